-- The links of the latest visit of every page, where `sinks.links` asks for them.
CREATE TABLE links (
    crawl            text NOT NULL,
    source_hash      text NOT NULL,           -- url_hash of the page
    number           integer NOT NULL,        -- its place on the page
    target_url       text NOT NULL,
    target_hash      text NOT NULL,
    anchor           text,
    rel              text,
    fetched_at       timestamptz NOT NULL,    -- of the visit
    PRIMARY KEY (crawl, source_hash, number)
);
CREATE INDEX links_target ON links (target_hash);
