"""The parts of deploy/ started without containers: gunicorn twice behind nginx with TLS, one of them killed under it."""

import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from scripts.services import own_addresses
from scripts.web_processes import ROOT, WebProcesses, free_port

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    # On SQLite, and once more on the servers that `scripts.services` started.
    pytest.mark.database,
    pytest.mark.skipif(
        NGINX is None or shutil.which("openssl") is None, reason="nginx or openssl is not installed: apt-get install nginx openssl"
    ),
]
METRICS = "0123456789abcdef"


@dataclass
class Site:
    webs: list[WebProcesses]
    tls_port: int
    plain_port: int
    folder: Path

    def get(self, address: str, **headers: str) -> tuple[int, dict[str, str], str]:
        trusting = ssl.create_default_context(cafile=str(self.folder / "fullchain.pem"))
        connection = HTTPSConnection("127.0.0.1", self.tls_port, timeout=30, context=trusting)
        connection.request("GET", address, headers={"Host": "plans.example.org", **headers})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, dict(answer.getheaders()), body

    def lines(self) -> list[dict[str, object]]:
        text = "".join((self.folder / f"web{number}.log").read_text() for number in (0, 1))
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    certificate(folder)
    figures = folder / "figures"
    figures.mkdir()
    settings = {
        "SQLITE_PATH": str(folder / "plans.sqlite3"),
        **own_addresses(),
        "SECRET_KEY": "only-for-this-test-0123456789-abcdefghijklmnopqrstuv",
        "ALLOWED_HOSTS": "plans.example.org",
        "HTTPS": "1",
        "BEHIND_PROXY": "1",
        "LOG_FORMAT": "json",
        "METRICS_TOKEN": METRICS,
        # Named here, because a process that is killed removes nothing.
        "PROMETHEUS_MULTIPROC_DIR": str(figures),
        "RATE_LIMIT": "1000/d",
    }
    webs = [WebProcesses(settings, folder / f"web{number}.log", workers=1) for number in range(2)]
    webs[0].manage("migrate", "--verbosity", "0")
    found = Site(webs, free_port(), free_port(), folder)
    (folder / "nginx.conf").write_text(configuration(found))
    checked = subprocess.run([str(NGINX), "-t", "-c", folder / "nginx.conf"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    nginx = None
    try:
        for web in webs:
            web.start()
        with (folder / "nginx.log").open("wb") as log:
            nginx = subprocess.Popen([str(NGINX), "-c", folder / "nginx.conf", "-g", "daemon off;"], stdout=log, stderr=log)
        listening(found.tls_port)
        yield found
    finally:
        if nginx is not None:
            nginx.send_signal(signal.SIGQUIT)
            nginx.wait(30)
        for web in webs:
            web.stop()


def certificate(folder: Path) -> None:
    run = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    run += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
    subprocess.run(run, check=True, capture_output=True)


def configuration(site: Site) -> str:
    """deploy/nginx.conf with this machine's names, ports and folder in the place of the containers'; the rest is as it is there."""
    text = (ROOT / "deploy/nginx.conf").read_text()
    for number, web in enumerate(site.webs, 1):
        text = text.replace(f"web{number}:8000", f"127.0.0.1:{web.port}")
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    text = text.replace("listen 80 ", f"listen 127.0.0.1:{site.plain_port} ").replace("listen 443 ", f"listen 127.0.0.1:{site.tls_port} ")
    text = text.replace("/etc/nginx/certs", str(site.folder)).replace("/tmp/nginx.pid", str(site.folder / "nginx.pid"))  # noqa: S108 (the file's own)
    text = text.replace("/dev/stdout", str(site.folder / "access.log")).replace("error_log stderr", f"error_log {site.folder}/error.log")
    folders = "".join(f"    {kind}_temp_path {site.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return text.replace("http {\n", "http {\n" + folders, 1)


def listening(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def test_a_page_comes_over_tls_with_the_id_that_both_log(site: Site) -> None:
    status, headers, body = site.get(
        "/?model=Qwen/Qwen3-8B&device=rtx-4090", **{"X-Forwarded-For": "6.6.6.6", "X-Request-ID": "made-up-id"}
    )
    assert status == 200
    assert "Slotwise" in body
    assert headers["Strict-Transport-Security"].startswith("max-age=")
    request_id = headers["X-Request-ID"]
    (line,) = [line for line in site.lines() if line["request_id"] == request_id]
    assert line["route"] == "/"
    assert line["client"] == "127.0.0.1", "the address that nginx saw, not the one that was made up"
    assert request_id in (site.folder / "access.log").read_text()
    assert request_id != "made-up-id", "nginx names the requests"


def test_the_address_of_a_request_is_in_no_log(site: Site) -> None:
    site.get("/nowhere/wJalrXUtnFEMI/?token=K7MDENGbPxRfiCY")
    site.get("/?config=K7MDENGbPxRfiCY")
    for log in site.folder.glob("*.log"):
        assert "wJalrXUtnFEMI" not in log.read_text()
        assert "K7MDENGbPxRfiCY" not in log.read_text()


def test_both_processes_share_one_count(site: Site) -> None:
    left = [int(re.findall(r"r=(\d+)", site.get("/glossary/")[1]["RateLimit"])[0]) for _ in range(6)]
    assert left == list(range(left[0], left[0] - 6, -1))
    served = {line["upstream"] for line in map(json.loads, (site.folder / "access.log").read_text().splitlines())}
    assert {f"127.0.0.1:{web.port}" for web in site.webs} <= served


@pytest.mark.parametrize("address", ["/readyz", "/metrics"])
def test_what_is_for_our_own_machines_is_not_there_from_outside(site: Site, address: str) -> None:
    assert site.get(address, Authorization=f"Bearer {METRICS}")[0] == 404
    for web in site.webs:
        assert web.answers("/readyz")


def test_what_comes_without_tls_or_by_another_name_is_turned_away(site: Site) -> None:
    assert site.get("/", Host="evil.example")[0] == 400
    with socket.create_connection(("127.0.0.1", site.plain_port), timeout=10) as connection:
        connection.sendall(b"GET /glossary/ HTTP/1.0\r\nHost: plans.example.org\r\n\r\n")
        answer = connection.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 308")
    assert "https://plans.example.org/glossary/" in answer


def test_one_process_that_dies_is_not_noticed(site: Site) -> None:
    site.webs[0].kill()
    try:
        assert [site.get("/glossary/")[0] for _ in range(8)] == [200] * 8
    finally:
        site.webs[0].start()
