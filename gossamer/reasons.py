"""Why something was refused, failed or slowed down: one word for each, everywhere."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something was refused, failed or slowed down: one word, the same in code, log and API."""

    # Refused by the link filter, before any request.
    NOT_A_URL = "not_a_url"
    SCOPE = "scope"
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    MEDIA_TYPE = "media_type"
    OWN_FILTER = "own_filter"
    NOFOLLOW = "nofollow"
    MAX_DEPTH = "max_depth"
    URL_TOO_LONG = "url_too_long"
    BAD_PORT = "bad_port"
    TRAP_PATH_DEPTH = "trap_path_depth"
    TRAP_REPEATED_PATH = "trap_repeated_path"
    TRAP_PARAMETERS = "trap_parameters"
    TRAP_CALENDAR = "trap_calendar"
    TRAP_PATTERN = "trap_pattern"
    TRAP_HOST = "trap_host"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    QUEUE_FULL = "queue_full"
    # Refused when its turn came.
    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    PRIVATE_ADDRESS = "private_address"
    SCHEME = "scheme"
    BLOCKED = "blocked"
    HOST_BUDGET = "host_budget"
    SITE_BUDGET = "site_budget"
    CRAWL_DELAY_TOO_LONG = "crawl_delay_too_long"
    HOST_DOWN = "host_down"
    ORIGIN_DOWN = "origin_down"
    # Asked for, and not fetched.
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    BROKEN_ANSWER = "broken_answer"
    STALE_CONNECTION = "stale_connection"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    OVERLOADED = "overloaded"
    BAD_REDIRECT = "bad_redirect"
    REDIRECT_LOOP = "redirect_loop"
    KILLS_WORKER = "kills_worker"
    UNREADABLE = "unreadable"  # fetched and stored, but nothing could be read of it
    # Why a host waits as long as it does.
    CONFIGURED = "configured"
    CRAWL_DELAY = "crawl_delay"
    LATENCY = "latency"
    ASKED_BY_SERVER = "asked_by_server"
    BACK_OFF = "back_off"
    IP_PACE = "ip_pace"
    CRAWL_PACE = "crawl_pace"
    POLICY = "policy"
    NO_ROOM = "no_room"
    NO_RESOURCES = "no_resources"
    OWNERSHIP = "ownership"
