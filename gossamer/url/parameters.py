"""Query parameters that say nothing about the page: who sent the visitor, and which session this is.

Two links that differ only in these lead to the same page, so the canonical URL goes without them. The lists
are data, drawn from the documentation of the tools that add these parameters (named beside each group), and
are meant to grow; a crawl adds its own (`crawl.parameters_dropped`) and takes out what means something where it
goes (`crawl.parameters_kept`). A name gets in only if it is hardly ever used for content: dropping an honest one
loses pages, while keeping a useless one costs a duplicate, which the judge finds later. So `ref`, `source`,
`id` and `lang` stay, and names that are honest on some sites (`sid` is a story here and a session there)
are dropped only when their value looks like a session id.

Deliberately absent: the `(S(...))` path segment of ASP.NET. Its servers answer the bare URL with a redirect
to one with a new session, which would lead back to the bare URL for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

NAMES_REMEMBERED = 4096  # a site has a few dozen


def _names(*groups: str) -> frozenset[str]:
    return frozenset(" ".join(groups).split())


TRACKING_PREFIXES = (
    "utm_",  # Google Analytics campaigns, and everybody who imitates them
    "hsa_",  # HubSpot ads
    "__hs",  # HubSpot visitor cookies passed between domains: __hstc, __hssc, __hsfp
)

TRACKING = _names(
    # Click identifiers that advertising platforms append: Google, Meta, Microsoft, Yandex, X, TikTok,
    # LinkedIn, Pinterest, Snapchat, Reddit, Impact, Instagram.
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid srsltid fbclid msclkid yclid ymclid ysclid",
    "_openstat twclid ttclid li_fat_id epik sccid rdt_cid irclickid igshid igsh",
    # Analytics linkers: Google Analytics, Matomo (once named Piwik), Adobe, AT Internet, Branch.
    "_ga _gl _gac ga_source ga_medium ga_campaign ga_term ga_content",
    "mtm_campaign mtm_source mtm_medium mtm_keyword mtm_kwd mtm_content mtm_cid mtm_group mtm_placement",
    "pk_campaign pk_source pk_medium pk_keyword pk_kwd pk_content pk_cid",
    "piwik_campaign piwik_kwd piwik_keyword s_kwcid ef_id at_campaign at_medium at_custom1 at_custom2",
    "_branch_match_id _branch_referrer",
    # Mail and marketing suites: Mailchimp, HubSpot, Marketo, Vero, Omeda, MailerLite, Dotdigital, Wicked.
    "mc_cid mc_eid _hsenc _hsmi hsctatracking mkt_tok vero_id vero_conv oly_anon_id oly_enc_id",
    "ml_subscriber ml_subscriber_hash dm_i wickedid",
    # Consent pages of Yahoo, which send the visitor on with these.
    "guccounter guce_referrer guce_referrer_sig",
)

SESSION_PREFIXES = ("aspsessionid",)  # classic ASP adds a random tail to the name

SESSION = _names(
    # Java servlets, PHP, ColdFusion, BroadVision, osCommerce and its forks, Zen Cart, and generic spellings
    # that nobody uses for anything else.
    "jsessionid phpsessid phpsessionid cfid cftoken bv_sessionid oscsid xtcsid zenid _sessionid sessid",
)

SESSION_IF_VALUE_LOOKS_SO = _names(
    # Also used for stories, sections, sessions of a conference, searches.
    "sid _sid lsid jsid s sess session sessionid session_id session-id session_key",
)

# A servlet container writes its session into the path (or, by mistake, behind the last query value):
# /page.html;jsessionid=1E6F.
SESSION_IN_PATH = ("jsessionid", "phpsessid")

# 16 letters and digits or more, with both kinds among them. A word, a number or a slug with dashes stays:
# `sid=4711`, `s=garden-chairs`, `session=keynote`.
_LOOKS_LIKE_A_SESSION = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[0-9A-Za-z]{16,}")


class Parameters:
    """Which parameters go: those listed above, and with `dropped` and `kept` what a crawl wants otherwise.

    A name that ends in `*` stands for all that begin so. What is both dropped and kept is kept."""

    def __init__(self, dropped: Iterable[str] = (), kept: Iterable[str] = ()) -> None:
        """Names are written as they are in a canonical query, in small letters."""
        self._kept, self._kept_prefixes = _split(kept)
        names, prefixes = _split(dropped)
        self._names = frozenset(name for name in TRACKING | SESSION | names if not self._is_kept(name))
        self._prefixes = TRACKING_PREFIXES + SESSION_PREFIXES + prefixes
        self._doubtful = frozenset(name for name in SESSION_IF_VALUE_LOOKS_SO if not self._is_kept(name))
        self._in_path = tuple(name for name in SESSION_IN_PATH if not self._is_kept(name))
        in_path = "|".join(self._in_path)
        # Not after `.` or `..`: the segment `..;jsessionid=1` would turn into `..` and mean another place. Several
        # in a row go together, so that a second look finds nothing new.
        self.session_in_path = re.compile(
            rf"(?<!/\.)(?<!/\.\.)(?:;(?:{in_path})=[^/?&;]*)+" if in_path else r"(?!)", re.IGNORECASE
        )
        self._is_dropped = lru_cache(NAMES_REMEMBERED)(self._judged)

    def is_noise(self, parameter: str) -> bool:
        """Whether the page is the same without this `name=value`."""
        name, _, value = parameter.partition("=")
        is_dropped = self._is_dropped(name)
        return _LOOKS_LIKE_A_SESSION.fullmatch(value) is not None if is_dropped is None else is_dropped

    def lists(self) -> dict[str, Iterable[str]]:
        """All that it goes by."""
        return {
            "names": self._names,
            "prefixes": self._prefixes,
            "doubtful": self._doubtful,
            "kept": self._kept,
            "kept_prefixes": self._kept_prefixes,
            "in_path": self._in_path,
        }

    def _judged(self, name: str) -> bool | None:
        """Whether parameters of a name are dropped; None: it depends on the value."""
        name = name.lower()
        if name in self._names:
            return True
        if name.startswith(self._prefixes):
            return not self._is_kept(name)
        return None if name in self._doubtful else False

    def _is_kept(self, name: str) -> bool:
        return name in self._kept or name.startswith(self._kept_prefixes)


def _split(names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Whole names, and prefixes without their star."""
    names = tuple(names)
    prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
    return frozenset(name for name in names if not name.endswith("*")), prefixes
