-- What a browser showed, and what that took.
ALTER TABLE pages
    ADD COLUMN rendered        boolean NOT NULL DEFAULT false,  -- text and links are what a browser showed
    ADD COLUMN render_requests integer,                         -- whether it gained or not; NULL: no browser was asked
    ADD COLUMN render_bytes    bigint,
    ADD COLUMN render_seconds  double precision;
