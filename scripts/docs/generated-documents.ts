import { ERRORS, type ErrorDefinition } from '../../src/contract/error-codes.ts';
import { EN } from '../../src/contract/messages/en.ts';
import {
  SETTINGS,
  type SettingTable,
  SHARED_SETTINGS,
  START_SETTINGS,
} from '../../src/server/platform/setting-definitions.ts';
import type { Setting } from '../../src/server/platform/setting-readers.ts';
import { renderModels } from './models.ts';

const GENERATED = '<!-- Made by `npm run docs` from the code; changes here are overwritten. -->';

/** Texts of the documents generated from code, by path in the repository. */
export function renderDocs(): Record<string, string> {
  return {
    'docs/errors.md': renderErrors(),
    'docs/config.md': renderConfig(),
    'docs/models.md': `${GENERATED}\n\n${renderModels()}`,
    '.env.example': renderEnvExample(),
  };
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;

function renderErrors(): string {
  const texts: Readonly<Record<string, string>> = EN;
  const rows = Object.entries<ErrorDefinition>(ERRORS).map(([code, { status, apiStatus, type, retryable }]) =>
    row(`\`${code}\``, `${apiStatus}`, `${status}`, `\`${type}\``, retryable ? 'yes' : 'no', texts[code] ?? ''),
  );
  return `${GENERATED}

# Errors

The format of an error depends on the path of the request:

- \`/api/*\`: \`{"success": false, "message": "…"}\`. Documented business failures have HTTP status 200: check
  \`success\`, not the status.
- Video endpoints: \`{"code": "…", "message": "…", "data": null}\`. Those in OpenAI's format have
  \`"error": {"message", "type", "param", "code"}\` in the same object.
- Chat and other model calls: \`{"error": {"message", "type", "param", "code"}}\`.
- Device token and refresh: \`{"success": false, "error": "…", "message": "…"}\` with status 200; \`/oauth/*\`:
  \`{"error": "…", "error_description": "…"}\`. There \`error\` is a code of RFC 6749 or RFC 8628: the
  \`device_code_*\` and \`refresh_token_*\` below are \`invalid_grant\`, \`record_incomplete\` is \`server_error\`.

Every response has an \`X-Request-Id\` header; the server's log has the same id. Responses with status 429 and 503 say in
\`Retry-After\` how many seconds to wait. "Retry" tells whether the same request can succeed later without being changed.
Names in braces are replaced by values. Messages are in the language of \`Accept-Language\` (\`en\`, \`zh-CN\`).

| Code | Status on \`/api\` | Status elsewhere | Type | Retry | Message |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

function renderConfig(): string {
  return `${GENERATED}

# Settings

The environment configures the service. A file \`.env\` in the working directory is read too; the environment takes precedence. All
settings are checked at start: an invalid value stops the start with one line that names the setting.
[.env.example](../.env.example) lists them all, ready to copy. A setting of an earlier release that is still set causes a warning that
names its replacement.

## Fixed at start

${settingsTable(START_SETTINGS)}

## Also in the console

Root can store these in the console where the environment does not set them. [settings.md](settings.md) has the settings that
the console alone has.

${settingsTable(SHARED_SETTINGS)}
`;
}

const settingsTable = (settings: SettingTable): string => {
  const rows = Object.entries(settings).map(([name, setting]) =>
    row(`\`${name}\``, setting.default === undefined ? '' : `\`${setting.default}\``, describe(setting)),
  );
  return `| Setting | Default | Meaning |\n|---|---|---|\n${rows.join('\n')}`;
};

const describe = ({ description, range, secret }: Setting) =>
  [
    description,
    range === undefined ? '' : ` From ${range[0].toLocaleString('en')} to ${range[1].toLocaleString('en')}.`,
    secret ? ' Secret: never shown in logs.' : '',
  ].join('');

function renderEnvExample(): string {
  const entries = Object.entries<Setting>(SETTINGS).map(
    ([name, setting]) => `# ${describe(setting)}\n#${name}=${setting.default ?? ''}\n`,
  );
  return `# Made by \`npm run docs\` from the code. Copy to .env and take off the # of what you change.\n\n${entries.join('\n')}`;
}
