from gossamer.config import ConfigError as ConfigError
from gossamer.folder import FolderError as FolderError
from gossamer.library.crawl import Crawl as Crawl
from gossamer.library.crawl import crawl as crawl
from gossamer.library.crawled import Crawled as Crawled
from gossamer.library.report import Report as Report
from gossamer.library.sync import CrawlSync as CrawlSync
from gossamer.library.sync import crawl_sync as crawl_sync
from gossamer.process.media_types import processes as processes
from gossamer.records import Link as Link
from gossamer.records import Page as Page
from gossamer.records import Reason as Reason
from gossamer.records import Verdict as Verdict
from gossamer.url.typed import NotASeed as NotASeed

__version__: str
