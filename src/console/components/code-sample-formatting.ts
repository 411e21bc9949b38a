/** Quotes a text as one word of a POSIX shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** JSON as a Python literal; only `true`, `false` and `null` differ. */
export const formatPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(/("(?:[^"\\]|\\.)*")|\b(?:true|false|null)\b/g, (word, text?: string) =>
    text !== undefined ? word : ({ true: 'True', false: 'False', null: 'None' }[word] ?? word),
  );

/** Placeholder in samples that the reader replaces with an API key. */
export const API_KEY_PLACEHOLDER = 'YOUR_API_KEY';

/** A POST request with a JSON body as a curl command. @param path begins with a slash */
export const formatCurl = (origin: string, path: string, body: unknown): string =>
  [
    `curl ${origin}${path} \\`,
    `  -H "Authorization: Bearer ${API_KEY_PLACEHOLDER}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(JSON.stringify(body, null, 2))}`,
  ].join('\n');
