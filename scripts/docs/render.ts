import { ERRORS, type ErrorRow } from '../../src/contract/errors.ts';
import { EN } from '../../src/contract/messages/en.ts';
import { SETTINGS, type Setting } from '../../src/server/platform/settings.ts';
import { renderModels } from './models.ts';

const GENERATED = '<!-- Made by `npm run docs` from the code; changes here are overwritten. -->';

/** Texts of the documents that are made from code, by their path in the repository. */
export function renderDocs(): Record<string, string> {
  return {
    'docs/errors.md': renderErrors(),
    'docs/config.md': renderConfig(),
    'docs/models.md': `${GENERATED}\n\n# Video models\n\n${renderModels()}`,
    '.env.example': renderEnvExample(),
  };
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;

function renderErrors(): string {
  const texts: Readonly<Record<string, string>> = EN;
  const rows = Object.entries<ErrorRow>(ERRORS).map(([code, { status, api, type, retry }]) =>
    row(`\`${code}\``, `${api}`, `${status}`, `\`${type}\``, retry ? 'yes' : 'no', texts[code] ?? ''),
  );
  return `${GENERATED}

# Errors

How an error looks depends on the address that answers it:

- \`/api/*\`: \`{"success": false, "message": "…"}\`. Documented business failures keep HTTP status 200; look at
  \`success\`, not at the status.
- Video addresses: \`{"code": "…", "message": "…", "data": null}\`. Those in OpenAI's format carry
  \`"error": {"message", "type", "param", "code"}\` in the same object.
- Chat and other model calls: \`{"error": {"message", "type", "param", "code"}}\`.
- Device token and refresh: \`{"success": false, "error": "…", "message": "…"}\` with status 200; \`/oauth/*\`:
  \`{"error": "…", "error_description": "…"}\`. There \`error\` is one of the words of RFC 6749 and RFC 8628: the
  \`device_code_*\` and \`refresh_token_*\` below are \`invalid_grant\`, \`record_incomplete\` is \`server_error\`.

Every answer has an \`X-Request-Id\` header; the log of the server has the same id. Answers with status 429 and 503 say in
\`Retry-After\` how many seconds to wait. "Retry" tells whether the same request may succeed later without being changed.
Words in braces are filled in. Messages come in the language of \`Accept-Language\` (\`en\`, \`zh-CN\`).

| Code | Status on \`/api\` | Status elsewhere | Type | Retry | Message |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

function renderConfig(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, setting]) =>
    row(`\`${name}\``, setting.default === undefined ? '' : `\`${setting.default}\``, describe(setting)),
  );
  return `${GENERATED}

# Settings

The service is configured by environment variables alone. A file \`.env\` in the working directory is read too; the
environment wins over it. All settings are checked at the start: a bad value ends the start with one line that names the
setting. [.env.example](../.env.example) lists them all, ready to copy.

| Setting | Default | Meaning |
|---|---|---|
${rows.join('\n')}
`;
}

const describe = (setting: Setting) => `${setting.meaning}${setting.secret ? ' Secret: never shown in logs.' : ''}`;

function renderEnvExample(): string {
  const entries = Object.entries<Setting>(SETTINGS).map(
    ([name, setting]) => `# ${describe(setting)}\n#${name}=${setting.default ?? ''}\n`,
  );
  return `# Made by \`npm run docs\` from the code. Copy to .env and take off the # of what you change.\n\n${entries.join('\n')}`;
}
