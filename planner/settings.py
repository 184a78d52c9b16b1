"""All settings. Each that an operator may change is one environment variable, read by the helpers below."""

import os
from pathlib import Path

import plotly
from django.core.exceptions import ImproperlyConfigured

from planner.operations import addresses
from planner.operations.rates import read_limit

BASE_DIR = Path(__file__).resolve().parent.parent


def env_text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def env_flag(name: str, *, default: bool) -> bool:
    text = env_text(name, "1" if default else "0").lower()
    if text not in {"0", "1", "true", "false", "yes", "no", "on", "off"}:
        raise ImproperlyConfigured(f"{name}={text!r}: give 1 or 0.")
    return text in {"1", "true", "yes", "on"}


def env_list(name: str, default: list[str]) -> list[str]:
    text = env_text(name, "")
    return [part.strip() for part in text.split(",") if part.strip()] if text else default


def env_choice(name: str, choices: tuple[str, ...]) -> str:
    """One of `choices`, the first where nothing is set."""
    text = env_text(name, choices[0])
    if text not in choices:
        raise ImproperlyConfigured(f"{name}={text!r}: give {' or '.join(choices)}.")
    return text


def env_count(name: str, default: int) -> int:
    text = env_text(name, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise ImproperlyConfigured(f"{name}={text!r}: give a whole number.")
    return int(text)


DEBUG = env_flag("DEBUG", default=False)
HTTPS = env_flag("HTTPS", default=False)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
# Nothing is signed or stored yet that must survive a restart, so a laptop needs no key of its own.
SECRET_KEY = env_text("SECRET_KEY", "for-a-single-user-on-loopback-only" if ALLOWED_HOSTS == ["127.0.0.1", "localhost", "[::1]"] else "")
if not SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY is not set: ALLOWED_HOSTS opens the site to others, so give it 50 random characters.")

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "planner.operations",
    "planner.web",
]
MIDDLEWARE = [
    "planner.operations.journal.request_line",
    "django.middleware.security.SecurityMiddleware",
    "planner.web.middleware.content_security_policy",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "planner.operations.probes.answer_probes",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    # After whatever says who is asking: a user is counted as that user, everybody else by address.
    "planner.operations.limits.general_limit",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "planner.urls"
WSGI_APPLICATION = "planner.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request", "planner.web.context.site"]},
    },
]

DATABASES = {
    "default": addresses.database(env_text("DATABASE_URL", ""), sqlite_path=env_text("SQLITE_PATH", str(BASE_DIR / "slotwise.sqlite3")))
}
# What web processes share beside the tables of the plans. A process keeps nothing of its own but facts that never change.
CACHE_URL = env_text("CACHE_URL", "database")
CACHES = {"default": addresses.cache(CACHE_URL)}
SESSION_ENGINE = addresses.session_engine(CACHE_URL)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static", ("vendor/plotly", Path(plotly.__file__).parent / "package_data")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if env_flag("HASHED_STATIC", default=False)
        else "django.contrib.staticfiles.storage.StaticFilesStorage",
    },
}
# Without collectstatic (a laptop, the tests) whitenoise serves straight from the folders above.
WHITENOISE_USE_FINDERS = not env_flag("HASHED_STATIC", default=False)

# A pasted or uploaded config.json is bounded here before anything reads it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 2**20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 100

SECURE_CSP = {
    "default-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS", [])
SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$", "^metrics$"]  # probes of the machine itself speak plain HTTP
# How many proxies stand before us: so many of the last addresses in X-Forwarded-For are believed, and X-Forwarded-Proto is.
BEHIND_PROXY = env_count("BEHIND_PROXY", 0)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Requests of one user, or of one address where nobody is logged in. A site for this machine alone has no strangers to hold off.
RATE_LIMIT = read_limit("requests", env_text("RATE_LIMIT", "off" if ALLOWED_HOSTS == ["127.0.0.1", "localhost", "[::1]"] else "600/m"))
METRICS_TOKEN = env_text("METRICS_TOKEN", "")

# The Hub client: where it asks, with whose token (none unless the operator gives one), and how long it waits.
HUB_ENDPOINT = env_text("HF_ENDPOINT", "https://huggingface.co")
HUB_TOKEN = env_text("SLOTWISE_HUB_TOKEN", "")
HUB_TIMEOUT_SECONDS = 10.0

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"without_addresses": {"()": "planner.operations.log_lines.WithoutAddresses"}},
    "formatters": {
        "text": {"()": "planner.operations.log_lines.TextLines"},
        "json": {"()": "planner.operations.log_lines.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env_choice("LOG_FORMAT", ("text", "json")),
            "filters": ["without_addresses"],
        },
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["console"], "level": env_text("LOG_LEVEL", "INFO")},
    "loggers": {
        "django": {"handlers": [], "propagate": True},  # Django's own handlers would write each line once more
        # One line for each request is ours, with its status; these would add the address, which may be a secret, or a traceback.
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": ["nowhere"], "propagate": False},
        "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
    },
}
