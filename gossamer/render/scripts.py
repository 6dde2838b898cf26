"""What we run in a page: before its own scripts, when it is scrolled, and to read it in the end.

A page without a window draws nothing, so whatever a browser does once a frame never happens: animation frames, scroll
events, observers of what is visible. `BEFORE` puts timers in their place, under which everything is visible at once.
So pages are the same in every browser, and what loads when it is seen loads without scrolling.
"""

from __future__ import annotations

BEFORE = """(() => {
  const observers = new Set();
  const all = (observer, entry) => {
    clearTimeout(observer.timer);
    observer.timer = setTimeout(() => {
      const entries = [...observer.elements].map(entry);
      if (entries.length) observer.callback(entries, observer);
    }, 1);
  };
  const observerOf = (entry, again) => class {
    constructor(callback) {
      this.callback = callback;
      this.elements = new Set();
      if (again) observers.add(() => all(this, entry));
    }
    observe(element) { this.elements.add(element); all(this, entry); }
    unobserve(element) { this.elements.delete(element); }
    disconnect() { this.elements.clear(); }
    takeRecords() { return []; }
  };
  window.requestAnimationFrame = callback => setTimeout(() => callback(performance.now()), 16);
  window.cancelAnimationFrame = number => clearTimeout(number);
  const idle = {didTimeout: false, timeRemaining: () => 10};
  window.requestIdleCallback = callback => setTimeout(() => callback(idle), 1);
  window.cancelIdleCallback = number => clearTimeout(number);
  window.IntersectionObserver = observerOf(target => {
    const box = target.getBoundingClientRect();
    return {target, isIntersecting: true, isVisible: true, intersectionRatio: 1, boundingClientRect: box,
            intersectionRect: box, rootBounds: null, time: performance.now()};
  }, true);
  window.ResizeObserver = observerOf(target => {
    const contentRect = target.getBoundingClientRect();
    const size = [{inlineSize: contentRect.width, blockSize: contentRect.height}];
    return {target, contentRect, borderBoxSize: size, contentBoxSize: size, devicePixelContentBoxSize: size};
  }, false);
  window.addEventListener('scroll', () => observers.forEach(tell => tell()));
})()"""

SIZE = "document.documentElement.scrollHeight + ' ' + document.getElementsByTagName('*').length"

SCROLL = """(() => {
  window.scrollTo(0, document.documentElement.scrollHeight);
  document.dispatchEvent(new Event('scroll', {bubbles: true}));
})()"""

# Its URL as it was asked for, and how many characters at most. Where a script has changed the URL, relative links
# lead from the new one. What <noscript> says is untrue by now, unless it has links.
READ = """(() => {
  const root = document.documentElement;
  if (!root) return '';
  const head = document.head || root.insertBefore(document.createElement('head'), root.firstChild);
  for (const each of [...document.querySelectorAll('noscript')]) if (!/<a\\s/i.test(each.textContent)) each.remove();
  if (location.href !== %s && !document.querySelector('base[href]')) {
    const base = document.createElement('base');
    base.href = document.baseURI;
    head.prepend(base);
  }
  return ('<!DOCTYPE html>' + root.outerHTML).slice(0, %d);
})()"""
