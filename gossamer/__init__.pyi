from gossamer.library import crawl as crawl
from gossamer.process.media_types import processes as processes

__version__: str
