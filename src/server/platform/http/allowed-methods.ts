/** The methods each path is served with, for 405 and its `Allow` header (RFC 9110 section 15.5.6). */
export class AllowedMethods {
  readonly #fixed = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, { readonly form: RegExp; readonly methods: Set<string> }>();

  /** @param url as the router takes it: `/api/tokens/:id`, `/assets/*` */
  add(methods: string | readonly string[], url: string): void {
    // The page for unknown paths does not make GET an allowed method of them.
    if (url === '/*' || url === '*') return;
    const known = this.#methodsOf(url);
    for (const method of typeof methods === 'string' ? [methods] : methods) known.add(method);
  }

  /** Empty where no method serves the path. */
  of(path: string): readonly string[] {
    const found = new Set(this.#fixed.get(path));
    for (const { form, methods } of this.#patterns.values())
      if (form.test(path)) for (const method of methods) found.add(method);
    return [...found].sort();
  }

  #methodsOf(url: string): Set<string> {
    if (!/[:*]/.test(url)) {
      const known = this.#fixed.get(url) ?? new Set();
      this.#fixed.set(url, known);
      return known;
    }
    const known = this.#patterns.get(url) ?? { form: toForm(url), methods: new Set() };
    this.#patterns.set(url, known);
    return known.methods;
  }
}

function toForm(url: string): RegExp {
  const source = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\*]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}
