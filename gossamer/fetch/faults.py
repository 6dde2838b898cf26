"""What it means that a transfer failed: libcurl's codes and OpenSSL's words as a `Reason` and a detail."""

from __future__ import annotations

import re

import pycurl

from gossamer.fetch.incoming import Incoming
from gossamer.records import Reason

# libcurl's codes, by what they mean for us; anything else is a broken answer.
FAULTS = {
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.DNS,
    pycurl.E_COULDNT_CONNECT: Reason.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Reason.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: Reason.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Reason.TLS,
    pycurl.E_SSL_CERTPROBLEM: Reason.TLS,
    pycurl.E_SSL_CIPHER: Reason.TLS,
    pycurl.E_REMOTE_FILE_NOT_FOUND: Reason.GONE,
    pycurl.E_REMOTE_ACCESS_DENIED: Reason.CLIENT_ERROR,
    pycurl.E_LOGIN_DENIED: Reason.CLIENT_ERROR,
}
TLS_WORDS = {
    "wrong version number": "the server does not speak TLS on this port",
    "unexpected eof while reading": "the server hung up during the handshake",
    "protocol version": "the server speaks neither TLS 1.2 nor 1.3",
    "unsupported protocol": "the server speaks neither TLS 1.2 nor 1.3",
    "handshake failure": "the server and we have no cipher in common, or it wants a certificate of ours",
    "unrecognized name": "the server does not know this host name",
    "excessive message size": "the server's certificates are too long",
    "unable to get local issuer": "no authority that we trust vouches for the certificate",
    "no alternative certificate subject name": "the certificate is for other names",
}
LOW_SPEED = "too slow"  # how libcurl words the low-speed limit; both limits share one code


def meaning(fault: pycurl.error, incoming: Incoming) -> tuple[Reason | None, str]:
    code, message = (*fault.args, "")[:2]
    if incoming.truncated:
        return None, ""  # we hung up ourselves
    if incoming.is_unasked:
        return Reason.BROKEN_ANSWER, "status 101, which was not asked for"
    if incoming.unwanted_type:
        return Reason.MEDIA_TYPE, incoming.unwanted_type
    if incoming.headers_are_too_large:
        return Reason.TOO_LARGE, "headers"
    if code == pycurl.E_ABORTED_BY_CALLBACK and incoming.requests > 1:
        return Reason.STALE_CONNECTION, "the server closed the connection, or sent the request back unread"
    incoming.distrusts = code == pycurl.E_PEER_FAILED_VERIFICATION
    reason = FAULTS.get(code, Reason.BROKEN_ANSWER)
    if reason is Reason.TIMEOUT and LOW_SPEED in message:
        reason = Reason.TOO_SLOW
    return reason, tls_words(message) if reason is Reason.TLS else message


def tls_words(message: str) -> str:
    """OpenSSL's message for a person: what it means, and its own words without numbers, to search for."""
    said = message.removeprefix("SSL certificate OpenSSL verify result: ").rpartition("::")[2].removeprefix("SSL: ")
    said = re.sub(r" \(\d+\)$", "", said)
    for words, meant in TLS_WORDS.items():
        if words in said:
            return f"{meant} ({said})"
    return said
