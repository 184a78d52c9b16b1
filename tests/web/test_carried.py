"""The plan that comes along to another page, from its address or from the page the reader came from."""

import pytest
from django.test import Client


# Any text may stand in the header: urlsplit refuses these.
@pytest.mark.parametrize("referer", ["http://[", "http://[::1", "http://testserver\uff0f/?users=5"])
def test_a_referer_that_is_no_address_is_passed_over(client: Client, referer: str) -> None:
    for page in ("/guide/", "/review/"):
        assert client.get(page, HTTP_REFERER=referer).status_code == 200
