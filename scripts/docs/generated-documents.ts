import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { ERRORS, type ErrorDefinition } from '../../src/contract/error-codes.ts';
import { EN } from '../../src/contract/messages/en.ts';
import {
  CONSOLE_SETTINGS,
  SETTINGS,
  type SettingTable,
  SHARED_SETTINGS,
  START_SETTINGS,
} from '../../src/server/platform/setting-definitions.ts';
import type { Setting } from '../../src/server/platform/setting-readers.ts';
import { FIELD_TREATMENTS, type Treatment } from '../../test/chat/field-treatments.ts';
import { renderModels } from './models.ts';

const GENERATED = '<!-- Made by `npm run docs` from the code; changes here are overwritten. -->';

/** Texts of the documents generated from code, by path in the repository. */
export function renderDocs(): Record<string, string> {
  return {
    'docs/errors.md': renderErrors(),
    'docs/config.md': renderConfig(),
    'docs/models.md': `${GENERATED}\n\n${renderModels()}`,
    'docs/cli.md': fillTables('docs/cli.md', { commands: renderCommandTable() }),
    'docs/clients.md': fillTables('docs/clients.md', renderDialectTables()),
    '.env.example': renderEnvExample(),
  };
}

/** The document with these tables, each after its mark ``<!-- Made by `npm run docs`: NAME -->`` in place of the last. */
function fillTables(path: string, tables: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return Object.entries(tables).reduce((before, [name, rows]) => {
    const mark = `<!-- Made by \`npm run docs\`: ${name} -->\n`;
    const [prose, after] = before.split(mark);
    if (prose === undefined || after === undefined) throw new Error(`${path} has no place for the table "${name}".`);
    const rest = after.replace(/^\n*(?:\|.*\n)*\n*/, '');
    return `${prose}${mark}\n${rows}\n${rest === '' ? '' : '\n'}${rest}`;
  }, text);
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;

function renderErrors(): string {
  const all = Object.entries<ErrorDefinition>(ERRORS);
  const isBusinessFailure = ([, { apiStatus, status }]: (typeof all)[number]): boolean => apiStatus !== status;
  return `${GENERATED}

# Error codes

For callers and operators: the code in a response, and what it means. The format depends on the path of the request:

- \`/api/*\`: \`{"success": false, "message": "…"}\`.
- Video endpoints: \`{"code": "…", "message": "…", "data": null}\`; those in OpenAI's format have
  \`"error": {"message", "type", "param", "code"}\` in the same object.
- Model calls: \`{"error": {"message", "type", "param", "code"}}\`. Paths in the formats of vendors have the vendors' own forms.
- Device token and refresh: \`{"success": false, "error": "…", "message": "…"}\` with status 200; \`/oauth/*\`:
  \`{"error": "…", "error_description": "…"}\`. There \`error\` is a code of RFC 6749 or RFC 8628: \`device_code_*\` and
  \`refresh_token_*\` become \`invalid_grant\`, \`record_incomplete\` becomes \`server_error\`.

Messages are in the language of \`Accept-Language\` (\`en\`, \`zh-CN\`); names in braces are replaced by values. "retry": the
same request can succeed later; 429, and 503 where it is known, say in \`Retry-After\` after how many seconds. Quote \`X-Request-Id\` when you
report an error: the server's log has the same id.

\`type\` follows from the status: 401 \`authentication_error\`, 403 \`permission_error\`, 429 \`rate_limit_error\`, 500 and 503
\`server_error\`, 502 and 504 \`upstream_error\`, others \`invalid_request_error\`; exceptions are named.

## Same status on all paths

${errorsTable(all.filter((each) => !isBusinessFailure(each)))}

## Business failures

On \`/api/*\` these have status 200: check \`success\`. Elsewhere:

${errorsTable(all.filter(isBusinessFailure))}
`;
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
  500: 'server_error',
  502: 'upstream_error',
  503: 'server_error',
  504: 'upstream_error',
};

/** Messages that consist of a value only, described. */
const DESCRIBED: Readonly<Record<string, string>> = {
  invalid_request: 'A field or header is missing, wrong or not supported; the message names it and the reason.',
  upstream_refused: 'The vendor refused the request; the message has its reason.',
};

function errorsTable(errors: readonly (readonly [string, ErrorDefinition])[]): string {
  const texts: Readonly<Record<string, string>> = EN;
  const rows = errors.map(([code, { status, type, retryable }]) => {
    const notes = [
      retryable ? ', retry' : '',
      type === (TYPES[status] ?? 'invalid_request_error') ? '' : `, \`${type}\``,
    ];
    return [`\`${code}\``, `${status}${notes.join('')}`, DESCRIBED[code] ?? texts[code] ?? ''];
  });
  return table('| Code | Status | Message |', rows);
}

function renderConfig(): string {
  return `${GENERATED}

# Settings

For operators. Environment variables configure the service; a file \`.env\` in the working directory is read too, with lower precedence.
[.env.example](../.env.example) has them all, ready to copy. An invalid value stops the start with a line that names the setting; a setting
of an earlier release causes a warning that names its replacement. Secrets never appear in logs.

## Fixed at start

${settingsTable(START_SETTINGS)}

## Also in the console

Root can store these in the console where the environment does not set them; the environment takes precedence.

${settingsTable(SHARED_SETTINGS)}

## Only in the console

Under Administration › Settings, or with \`PUT /api/admin/settings/NAME {"value": …}\`; an empty value or \`null\` restores the default. They are
stored in the database, apply to all processes within seconds, and each change is audited (\`setting.update\`). A stored value that a later
release does not accept is ignored with a log line.

${settingsTable(CONSOLE_SETTINGS)}
`;
}

const table = (head: string, rows: readonly (readonly string[])[]): string =>
  [head, head.replace(/[^|]+/g, '---'), ...rows.map((cells) => row(...cells))].join('\n');

const settingsTable = (settings: SettingTable): string => {
  const rows = Object.entries(settings).map(([name, setting]) => [
    `\`${name}\`${setting.secret ? ' (secret)' : ''}`,
    setting.default === undefined ? '' : `\`${setting.default}\``,
    describe(setting),
  ]);
  return table('| Setting | Default | Meaning |', rows);
};

const describe = ({ description, range }: Setting): string =>
  range === undefined ? description : `${description} ${range.map((end) => end.toLocaleString('en')).join('–')}.`;

function renderEnvExample(): string {
  const entries = Object.entries<Setting>(SETTINGS).map(
    ([name, setting]) =>
      `# ${describe(setting)}${setting.secret ? ' Secret.' : ''}\n#${name}=${setting.default ?? ''}\n`,
  );
  return `# Made by \`npm run docs\` from the code. Copy to .env and take off the # of what you change.\n\n${entries.join('\n')}`;
}

/** The table of docs/cli.md: each command with its arguments, purpose and options, in the order of the help. */
function renderCommandTable(): string {
  const rows = commandsOf(createProgram(false)).map(({ path, command }) => {
    const named = command.registeredArguments.map((each) => {
      const name = `${each.name()}${each.variadic ? '…' : ''}`.toUpperCase();
      return each.required ? name : `[${name}]`;
    });
    const options = command.options.map(({ long }) => `\`${long}\``).join(', ');
    return `| \`reelgate ${[...path, ...named].join(' ')}\` | ${command.description()} | ${options} |`;
  });
  return ['| Command | Purpose | Options |', '|---|---|---|', ...rows].join('\n');
}

/** All commands below this one that do something, without the groups. */
const commandsOf = (command: Command, before: readonly string[] = []): { path: string[]; command: Command }[] =>
  command.commands.flatMap((each) => {
    const path = [...before, each.name()];
    return each.commands.length === 0 ? [{ path, command: each }] : commandsOf(each, path);
  });

const TREATMENT_ORDER: readonly Treatment[] = ['default', 'partly', 'dropped', 'refused', 'same', 'yes'];
const TREATMENT_HEAD = '| OpenAI, chat | OpenAI, Responses | Anthropic | Google | Fields |\n|---|---|---|---|---|';

/** By dialect of the caller, a table of the fields that some upstream does not take in full. */
const renderDialectTables = (): Record<string, string> =>
  Object.fromEntries(
    FIELD_TREATMENTS.map(({ title, fields }) => {
      const partial = fields.filter((each) => !each.treatments.every((one) => one === 'same' || one === 'yes'));
      const rows = [...Map.groupBy(partial, ({ treatments }) => treatments.join(' | '))].toSorted(([a], [b]) =>
        keyOf(a).localeCompare(keyOf(b)),
      );
      const lines = rows.map(([cells, same]) => `| ${cells} | ${same.map(({ field }) => field).join('; ')} |`);
      return [title, [TREATMENT_HEAD, ...lines].join('\n')];
    }),
  );

const keyOf = (cells: string): string =>
  cells
    .split(' | ')
    .map((each) => TREATMENT_ORDER.indexOf(each as Treatment))
    .join('');
