"""All settings. Each that an operator may change is one environment variable, read by the three helpers below."""

import os
from pathlib import Path

import plotly
from django.core.exceptions import ImproperlyConfigured

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
    "planner.web",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "planner.web.middleware.content_security_policy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": env_text("SQLITE_PATH", str(BASE_DIR / "slotwise.sqlite3")),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=5000",
        },
    },
}
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
if env_flag("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# The Hub client: where it asks, with whose token (none unless the operator gives one), and how long it waits.
HUB_ENDPOINT = env_text("HF_ENDPOINT", "https://huggingface.co")
HUB_TOKEN = env_text("SLOTWISE_HUB_TOKEN", "")
HUB_TIMEOUT_SECONDS = 10.0

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env_text("LOG_LEVEL", "INFO")},
}
