"""All settings. Each that an operator may change is one environment variable, read by the helpers below."""

import os
from datetime import timedelta
from pathlib import Path

import plotly
from django.core.exceptions import ImproperlyConfigured

from planner.operations import addresses
from planner.operations.rates import read_limit
from planner.secret_key import kept_key

BASE_DIR = Path(__file__).resolve().parent.parent
THIS_MACHINE = ["127.0.0.1", "localhost", "[::1]"]


def env_text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def env_flag(name: str, *, default: bool) -> bool:
    text = env_text(name, "1" if default else "0").lower()
    if text not in {"0", "1", "true", "false", "yes", "no", "on", "off"}:
        raise ImproperlyConfigured(f"{name}={text!r}: give 1 or 0.")
    return text in {"1", "true", "yes", "on"}


def site_url(host: str) -> str:
    """The address of the site where none is given: its first name, and on this machine the port of `make run`."""
    scheme = "https" if env_flag("HTTPS", default=False) else "http"
    return f"{scheme}://{host.lstrip('*.')}" + (f":{env_text('PORT', '8000')}" if host in THIS_MACHINE else "")


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
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", THIS_MACHINE)
ONLY_THIS_MACHINE = set(ALLOWED_HOSTS) <= set(THIS_MACHINE)
SECRET_KEY = env_text("SECRET_KEY", "") or (kept_key(BASE_DIR / "slotwise.key") if ONLY_THIS_MACHINE else "")
if not SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY is not set: ALLOWED_HOSTS opens the site to others, so give it 50 random characters.")

# Who may do what without being asked: "open" lets anybody sign up, "invitation" only who was invited, "private" also asks for a log-in
# on every page, and "single" is one person's own machine, without a log-in.
SITE_MODE = env_choice("SITE_MODE", ("open", "invitation", "private", "single"))
if SITE_MODE == "single" and not ONLY_THIS_MACHINE:
    raise ImproperlyConfigured(
        "SITE_MODE=single has no log-in, so it is for this machine only: leave ALLOWED_HOSTS out, or choose another mode."
    )
# Where links in mails lead. Never taken from a request, whose Host header anybody can write.
SITE_URL = env_text("SITE_URL", site_url(ALLOWED_HOSTS[0])).rstrip("/")
if SITE_URL.endswith(":"):
    raise ImproperlyConfigured("ALLOWED_HOSTS=* has no name for links in mails: set SITE_URL to the address of the site.")

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.forms",
    "axes",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "planner.operations",
    "planner.accounts",
    "planner.web",
    "planner.plans",
    "planner.api",
]
MIDDLEWARE = [
    "planner.operations.journal.request_line",
    "django.middleware.security.SecurityMiddleware",
    "planner.web.middleware.content_security_policy",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "planner.operations.probes.answer_probes",
    "planner.operations.problems.problems_only",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "planner.accounts.middleware.single_person",
    "planner.accounts.middleware.token_user",
    # After whatever says who is asking: a user is counted as that user, everybody else by address.
    "planner.operations.limits.general_limit",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "planner.web.middleware.bounded_body",
    "planner.permissions.Permissions",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "planner.urls"
WSGI_APPLICATION = "planner.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "planner.web.context.site",
            ]
        },
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
# Files are read from disk, and each page says how large its own may be; what is larger than any of them is not even received.
# A log to diagnose is the largest.
DIAGNOSE_MAX_BYTES = env_count("DIAGNOSE_MAX_MIB", 64) * 2**20
MAX_BODY_BYTES = max(64 * 2**20, DIAGNOSE_MAX_BYTES)

SECURE_CSP = {
    "default-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "object-src": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
}
FORM_RENDERER = "planner.accounts.rendering.Renderer"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["username", "email"]},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "login", "plans", "planner"
PASSWORD_RESET_TIMEOUT = 3600
SESSION_COOKIE_AGE = 14 * 86_400
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

# A name may be tried this often from one address, and then not for a while. Counted in the database, for all web processes together.
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
# What it keeps of a wrong log-in: who and from where. An address to go on to may be a secret, an invitation is one.
AXES_SENSITIVE_PARAMETERS = ["next", "invitation", "csrfmiddlewaretoken"]
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "planner.accounts.limits.named"
AXES_CLIENT_IP_CALLABLE = "planner.operations.clients.client_address"
AXES_LOCKOUT_CALLABLE = "planner.accounts.views.login.locked_out"

# Mails are printed on the console until a server for them is named.
EMAIL_HOST = env_text("EMAIL_HOST", "")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
EMAIL_PORT = env_count("EMAIL_PORT", 587)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env_text("EMAIL_HOST_USER", ""), env_text("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = env_flag("EMAIL_USE_TLS", default=True)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env_text("DEFAULT_FROM_EMAIL", "slotwise@localhost")
# Sent by a thread of their own, so that how long an answer takes does not tell whether there was somebody to write to.
MAIL_IN_BACKGROUND = True

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
RATE_LIMIT = read_limit("requests", env_text("RATE_LIMIT", "off" if ONLY_THIS_MACHINE else "600/m"))
# Likewise logs to diagnose, each of which may take as long as hundreds of plans.
DIAGNOSE_RATE_LIMIT = read_limit("diagnoses", env_text("DIAGNOSE_RATE_LIMIT", "off" if ONLY_THIS_MACHINE else "20/m"))
METRICS_TOKEN = env_text("METRICS_TOKEN", "")

# The Hub client: where it asks, with whose token (none unless the operator gives one), and how long it waits.
HUB_ENDPOINT = env_text("HF_ENDPOINT", "https://huggingface.co")
HUB_TOKEN = env_text("SLOTWISE_HUB_TOKEN", "")
HUB_TIMEOUT_SECONDS = 10.0

# A file of the operator's own devices, read once at the start (docs/catalogue.md).
CATALOGUE_FILE = env_text("SLOTWISE_CATALOGUE", "")

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
        "axes": {"level": "WARNING"},  # below that it tells of every log-in that went well
        "django.server": {"handlers": ["nowhere"], "propagate": False},
        "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
    },
}
