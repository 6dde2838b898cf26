// Colly, set up for speed as its documents say. Needs nothing of ours.
//
//	colly_crawl SEEDS
//
// What could be chosen is chosen in its favour: connections are kept for every host, its queue and its set of visited
// URLs live in memory, and pages are not stored.
package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: colly_crawl SEEDS")
		os.Exit(2)
	}
	seeds, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	// settings
	collector := colly.NewCollector(colly.Async(true))
	collector.IgnoreRobotsTxt = false
	collector.SetRequestTimeout(15 * time.Second)
	collector.WithTransport(&http.Transport{
		MaxIdleConnsPerHost: 8,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
	})
	limit := &colly.LimitRule{DomainGlob: "*", Parallelism: 100}
	// end of settings
	if err := collector.Limit(limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// A page that was asked for before, and one that robots.txt forbids, are errors here.
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		_ = element.Request.Visit(element.Attr("href"))
	})

	for _, seed := range strings.Fields(string(seeds)) {
		_ = collector.Visit(seed)
	}
	collector.Wait()
}
