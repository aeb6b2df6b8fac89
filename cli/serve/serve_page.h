/*
 * serve_page.h -- the page that `riffle serve` gives, as it was when the program was built.
 *
 * cli/serve/page.html, put into the program by scripts/embed-page.
 */
#ifndef CLI_SERVE_SERVE_PAGE_H
#define CLI_SERVE_SERVE_PAGE_H

#include <stddef.h>

extern const unsigned char serve_page[]; /* [serve_page_n], and a 0 behind it */
extern const size_t serve_page_n;

/* Sources of a Content-Security-Policy: the page's one style and its one script, by their hash. */
extern const char serve_page_style[], serve_page_script[];

#endif
