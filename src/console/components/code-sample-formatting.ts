/** A text as one word of a POSIX shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** JSON as a Python literal: the same but for its three words. */
export const toPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(/("(?:[^"\\]|\\.)*")|\b(?:true|false|null)\b/g, (word, text?: string) =>
    text !== undefined ? word : ({ true: 'True', false: 'False', null: 'None' }[word] ?? word),
  );

/** What a reader of a sample replaces with a key. */
export const API_KEY_PLACEHOLDER = 'YOUR_API_KEY';

/** A POST request of a JSON body as a command of curl. @param path begins with a slash */
export const toCurl = (origin: string, path: string, body: unknown): string =>
  [
    `curl ${origin}${path} \\`,
    `  -H "Authorization: Bearer ${API_KEY_PLACEHOLDER}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(JSON.stringify(body, null, 2))}`,
  ].join('\n');
