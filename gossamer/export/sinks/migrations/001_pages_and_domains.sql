-- The latest visit of every page. Rows of several crawls are told apart by `crawl`.
CREATE TABLE pages (
    crawl            text NOT NULL,
    url_hash         text NOT NULL,           -- SHA-256 of the URL, as hexadecimal digits
    url              text NOT NULL,
    domain           text NOT NULL,           -- the host
    title            text,
    status_code      integer,
    fetched_at       timestamptz NOT NULL,
    priority_score   double precision,        -- when it was asked for
    simhash          bigint,
    content_dedup    boolean NOT NULL DEFAULT false,  -- another URL has shown this content, or nearly this text
    content_hash     text,                    -- SHA-256
    content_path     text NOT NULL,           -- the WARC file with this visit
    content_offset   bigint NOT NULL,
    content_length   bigint NOT NULL,
    has_body         boolean NOT NULL,        -- false: the content is that of same_as, and not stored again
    body_bytes       bigint,
    media_type       text,
    language         text,
    verdict          text,                    -- original, same, near, unchanged; none for a redirect
    same_as          text,
    redirect         text,
    depth            integer,
    out_links        integer NOT NULL,
    noindex          boolean NOT NULL,
    noarchive        boolean NOT NULL,
    next_fetch_at    timestamptz,
    partition        integer NOT NULL,
    visit_id         text NOT NULL,           -- `id` of the messages
    PRIMARY KEY (crawl, url_hash)
);
CREATE INDEX pages_domain_fetched ON pages (domain, fetched_at DESC);
CREATE INDEX pages_simhash ON pages (simhash);

CREATE TABLE domains (
    crawl            text NOT NULL,
    domain           text NOT NULL,
    robots_txt       text,
    authority_score  double precision NOT NULL DEFAULT 0.5,
    last_crawled     timestamptz,
    page_count       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (crawl, domain)
);
CREATE INDEX domains_authority ON domains (authority_score DESC);

-- Which crawls write here, and how far each has come: moved in the transaction that adds the rows.
CREATE TABLE gossamer_crawls (
    crawl            text PRIMARY KEY,
    key              text NOT NULL,           -- noted in the crawl's folder, too: another folder has another one
    since            timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE gossamer_positions (
    crawl            text NOT NULL,
    partition        integer NOT NULL,
    file             text NOT NULL,
    file_offset      bigint NOT NULL,
    length           bigint NOT NULL,
    PRIMARY KEY (crawl, partition)
);
