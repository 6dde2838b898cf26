module gossamer/bench/colly

go 1.24.0

require github.com/gocolly/colly/v2 v2.3.0
