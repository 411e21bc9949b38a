import type { WriteStream } from 'node:tty';
import { type InspectColor, stripVTControlCharacters, styleText } from 'node:util';
import type { ErrorReport } from './error-report.ts';

interface OutputOptions {
  /** Prints one JSON document on standard output and nothing else. */
  readonly json: boolean;
  readonly quiet: boolean;
}

const USUAL_COLUMNS = 80;
/** A pipe. */
export const PLAIN: RenderTarget = { isTerminal: false, hasColor: false };

/** Texts for people in the language of the locale, by the English ones; unknown ones stay as they are. */
export interface Translation {
  readonly language: 'en' | 'zh-CN';
  /** Translates messages, which contain their values. */
  readonly message: (text: string) => string;
  /** Translates a text of a result, in which `#` stands for a value. */
  readonly phrase: (text: string) => string;
  /** Translates the unit of an amount or a duration. */
  readonly quantity: (text: string) => string;
}

const same = (text: string): string => text;
/** The texts as they are in the code. */
export const ENGLISH: Translation = { language: 'en', message: same, phrase: same, quantity: same };

/** Writes results to standard output, progress and errors to standard error, so that output can be piped. */
export class Output {
  /** Set once at the start, before the first output. */
  static translation = ENGLISH;
  readonly #options: OutputOptions;
  #hasStatusLine = false;
  #isStreaming = false;
  #lastStatus = '';
  readonly #out: RenderTarget = { isTerminal: process.stdout.isTTY === true, hasColor: hasColor(process.stdout) };
  readonly #err: RenderTarget = { isTerminal: process.stderr.isTTY === true, hasColor: hasColor(process.stderr) };
  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Whether standard error is a terminal. */
  get isInteractive(): boolean {
    return this.#err.isTerminal;
  }

  /** Columns that a line on standard error may have without being wrapped. */
  get columns(): number {
    // Some terminals report a width of 0.
    return (process.stderr.columns || USUAL_COLUMNS) - 1;
  }

  /** Prints the result: `text` for users and pipes, `value` with --json. */
  result(value: unknown, text: Text): void {
    this.#endStatusLine();
    if (this.#options.json) process.stdout.write(`${JSON.stringify(value)}\n`);
    else if (text !== '') {
      const shown = typeof text === 'string' && this.#out.isTerminal ? Output.translation.message(text) : text;
      process.stdout.write(`${render(shown, this.#out)}\n`);
    }
  }

  /**
   * Prints a list as the result. An empty list prints `none` on a terminal; a pipe gets no line, which would be read as
   * a row. `value` is printed with --json.
   */
  list(rows: readonly unknown[], table: Rendering, none: string, value: unknown = rows): void {
    const isEmpty = rows.length === 0;
    if (!isEmpty || this.#options.json || this.#out.isTerminal) this.result(value, isEmpty ? none : table);
    else this.info(none);
  }

  /** Prints a chunk of a streamed result; `endChunks` follows and prints the complete result with --json. */
  writeChunk(text: string): void {
    if (this.#options.json) return;
    this.#endStatusLine();
    this.#isStreaming = true;
    process.stdout.write(replaceControlCharacters(text));
  }

  /** Ends a streamed result; `value` is the result for programs, if there is one. */
  endChunks(value?: unknown): void {
    if (this.#options.json && value !== undefined) process.stdout.write(`${JSON.stringify(value)}\n`);
    if (this.#isStreaming) process.stdout.write('\n');
    this.#isStreaming = false;
  }

  info(line: Text): void {
    if (!this.#options.quiet && !this.#options.json) this.notice(line);
  }

  /** Like `info`, but also printed with --quiet and --json, because the user cannot continue without it. */
  notice(line: Text): void {
    this.#endStatusLine();
    process.stderr.write(`${render(typeof line === 'string' ? Output.translation.message(line) : line, this.#err)}\n`);
  }

  /**
   * Prints a status line, overwritten by the next one on a terminal that can; elsewhere only changes of `plain` are
   * printed.
   */
  status(line: Text, plain = render(line, PLAIN)): void {
    if (this.#options.quiet || this.#options.json) return;
    if (this.isInteractive && process.env.TERM !== 'dumb') {
      const shown = typeof line === 'string' ? Output.translation.message(line) : line;
      // Of a wrapped line only the last row would be overwritten.
      process.stderr.write(`\r\u001b[2K${truncateToWidth(render(shown, this.#err), this.columns)}`);
      this.#hasStatusLine = true;
    } else if (plain !== this.#lastStatus) process.stderr.write(`${replaceControlCharacters(plain)}\n`);
    this.#lastStatus = plain;
  }

  /** Erases the status line. */
  clearStatus(): void {
    if (this.#hasStatusLine) process.stderr.write('\r\u001b[2K');
    this.#hasStatusLine = false;
  }

  /** Prints an error and advice. */
  error({ message, advice, code, requestId, taskId, exitCode }: ErrorReport): void {
    // After Ctrl-C the user knows why the command ended.
    if (code === 'interrupted') this.clearStatus();
    this.#endStatusLine();
    if (this.#options.json) {
      const error = { message, code, advice, request_id: requestId, task_id: taskId, status: exitCode };
      process.stdout.write(`${JSON.stringify({ error })}\n`);
      return;
    }
    if (code === 'interrupted') return;
    const { message: translate } = Output.translation;
    const title = translate('Error:');
    // A full-width colon contains its space.
    const separator = title.endsWith(':') ? ' ' : '';
    this.notice(joinTexts([styled('bad', title), translate(message)], separator));
    if (advice !== undefined) this.notice(advice);
    if (requestId !== undefined && (code.startsWith('http_5') || code === 'internal_error'))
      this.notice(`Request: ${requestId}`);
  }

  #endStatusLine(): void {
    if (this.#hasStatusLine) process.stderr.write('\n');
    this.#hasStatusLine = false;
  }
}

/** Properties of an output that affect formatting. */
interface RenderTarget {
  /** Whether people read it: columns are aligned and times are relative. Programs get columns separated by tabs. */
  readonly isTerminal: boolean;
  readonly hasColor: boolean;
}

/** Renders a text for its target, and escapes text of other users for a terminal. */
export type Rendering = (target: RenderTarget) => string;
/** Plain strings are escaped when rendered. */
export type Text = string | Rendering;

/** Renders a text for its target. */
export const render = (text: Text, target: RenderTarget): string =>
  typeof text === 'string' ? replaceControlCharacters(text) : text(target);

/** Meaning of each colour, shared by all commands. */
const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  active: 'cyan',
  secondary: 'dim',
  heading: 'bold',
} as const satisfies Readonly<Record<string, InspectColor>>;
/** Meaning of a colour. */
export type Style = keyof typeof STYLES;

/** A text in the colour of a style. */
export const styled =
  (style: Style, text: Text): Rendering =>
  (target) => {
    const plain = render(text, target);
    return target.hasColor && plain !== '' ? styleText(STYLES[style], plain, { validateStream: false }) : plain;
  };

/**
 * A text of the command line itself in a result, with its values: in the language of the locale on a terminal, English
 * in a pipe. The key of its translation has `#` for each value.
 */
export const phrase =
  (parts: readonly string[], ...values: readonly (Text | number)[]): Rendering =>
  (target) => {
    const english = parts.join('#');
    const shown = target.isTerminal ? Output.translation.phrase(english) : english;
    const rendered = values.map((value) => renderValue(typeof value === 'number' ? String(value) : value, target));
    return shown
      .split('#')
      .map((part, index) => part + (rendered[index] ?? ''))
      .join('');
  };

/** A word from the service, such as the name of a state. */
export const word =
  (text: string): Rendering =>
  (target) =>
    render(target.isTerminal ? Output.translation.phrase(text) : text, target);

/** A message from a module that knows no terminal, such as the service's own checks. */
export const sentence =
  (text: string): Rendering =>
  (target) =>
    render(target.isTerminal ? Output.translation.message(text) : text, target);

/** A plain text in a result is data, of which only units are translated. */
const renderValue = (text: Text, target: RenderTarget): string =>
  typeof text === 'string' && target.isTerminal
    ? Output.translation.quantity(render(text, target))
    : render(text, target);

/** Concatenates texts. */
export const joinTexts =
  (texts: readonly Text[], separator: string): Rendering =>
  (target) =>
    texts.map((text) => renderValue(text, target)).join(separator);

/** `3 minutes ago` for people, RFC 3339 in UTC for programs. @param seconds Unix seconds */
export const relativeTime =
  (seconds: number): Rendering =>
  ({ isTerminal }) =>
    isTerminal ? Output.translation.message(formatRelativeTime(seconds)) : formatTimestamp(seconds);

/** `2026-11-21 12:30` in the local time zone for people, RFC 3339 in UTC for programs. @param seconds Unix seconds */
export const dateTime =
  (seconds: number): Rendering =>
  ({ isTerminal }) =>
    isTerminal ? formatDateTime(seconds) : formatTimestamp(seconds);

const formatTimestamp = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/**
 * Aligned columns with a header for people, without those that are empty; for programs only rows, with cells separated
 * by tabs.
 */
export const formatTable =
  (head: readonly string[], rows: readonly (readonly Text[])[]): Rendering =>
  (target) => {
    const toCell = (text: Text): string => renderValue(text, target).replace(/[\t\r\n]+/g, ' ');
    const contents = rows.map((row) => row.map(toCell));
    if (!target.isTerminal) return contents.map((row) => row.join('\t')).join('\n');
    const heading = head.map((name) => toCell(styled('heading', word(name))));
    const isShown = head.map((_, column) => contents.length === 0 || contents.some((row) => row[column] !== ''));
    const cells = [heading, ...contents].map((row) => row.filter((_, column) => isShown[column]));
    return alignColumns(cells);
  };

/** Rows of one text, with as many spaces as align their columns. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))));
  return rows
    .map((row) =>
      row
        .map((cell, column) => padToWidth(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * A last column for lists of an organization: the member who created each row. Without such rows it is absent, so that
 * the columns of an account's own lists stay as they are.
 */
export function authorColumn<Row>(rows: readonly Row[], authorOf: (row: Row) => string | undefined) {
  const isShown = rows.some((row) => Boolean(authorOf(row)));
  return { head: isShown ? ['BY'] : [], cells: (row: Row): string[] => (isShown ? [authorOf(row) ?? ''] : []) };
}

/** Lines `name   value`, separated by a tab for programs; entries without a value are omitted. */
export const formatKeyValues =
  (values: Readonly<Record<string, Text | undefined>>): Rendering =>
  (target) => {
    const shown = Object.entries(values).filter(
      (entry): entry is [string, Text] => entry[1] !== undefined && entry[1] !== '',
    );
    if (!target.isTerminal) return shown.map(([name, value]) => `${name}\t${render(value, target)}`).join('\n');
    const labels = shown.map(([name]) => render(styled('secondary', word(name)), target));
    const width = Math.max(0, ...labels.map(displayWidth));
    return shown
      .map(([, value], index) => `${padToWidth(labels[index] ?? '', width)}  ${renderValue(value, target)}`)
      .join('\n');
  };

/** Control characters and direction overrides, with which text of other users could move the cursor or hide output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Escapes untrusted text for a terminal; tabs and line breaks are kept. */
const replaceControlCharacters = (text: string): string => text.replace(UNSAFE, '\ufffd');

/** Width of a text on a terminal, in columns; colour codes have none. */
const displayWidth = (text: string): number =>
  [...stripVTControlCharacters(text)].reduce((sum, letter) => sum + letterWidth(letter), 0);

/** Appends spaces up to a width in columns. */
export const padToWidth = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)));

const letterWidth = (letter: string): number => (WIDE.test(letter) ? 2 : 1);

/** One line of at most so many columns; colour codes are kept. */
function truncateToWidth(text: string, columns: number): string {
  let width = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
  return text.replace(/[\t\r\n]+/g, ' ').replace(/\u001b\[[\d;]*m|./gsu, (part) => {
    if (part.startsWith('\u001b')) return part;
    width += letterWidth(part);
    return width > columns ? '' : part;
  });
}

/**
 * Whether text for a stream may be coloured. FORCE_COLOR decides if set (0 or false: never); otherwise NO_COLOR
 * (no-color.org) disables colours, and terminals that support colours have them.
 */
export function hasColor(stream: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>, env = process.env): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: without } = env;
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  if (without !== undefined && without !== '') return false;
  return stream.isTTY === true && stream.hasColors?.() === true;
}

/** `3 minutes ago`, `in 2 days`. @param seconds Unix seconds */
function formatRelativeTime(seconds: number): string {
  const distance = seconds - Date.now() / 1000;
  const found = UNITS.find(([, minimum]) => Math.abs(distance) >= minimum);
  if (found === undefined) return distance > 0 ? 'in a moment' : 'just now';
  const [unit, size] = found;
  return new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(Math.trunc(distance / size), unit);
}
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `2026-11-21 12:30`, in the machine's time zone. */
export function formatDateTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `10 minutes`, `45 seconds`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return seconds === 1 ? '1 second' : `${seconds} seconds`;
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

/** Formats a number of bytes. */
export const formatBytes = (bytes: number): string => {
  const [name, size] = BYTE_UNITS.find(([, minimum]) => bytes >= minimum) ?? [];
  return size === undefined ? `${Math.ceil(bytes / 1024)} KB` : `${Number((bytes / size).toFixed(1))} ${name}`;
};

const BYTE_UNITS: readonly (readonly [name: string, size: number])[] = [
  ['TB', 1024 ** 4],
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
];

const BAR_CELLS = 20;

/** @param share completed share, from 0 to 1 */
export function formatProgressBar(share: number): Rendering {
  const filled = Math.round(share * BAR_CELLS);
  return joinTexts([styled('good', '█'.repeat(filled)), styled('secondary', '░'.repeat(BAR_CELLS - filled))], '');
}

/** Language of the user's locale; English if there are no texts in that language. */
export function readLanguage(env = process.env): 'en' | 'zh-CN' {
  const { LC_ALL, LC_MESSAGES, LANG } = env;
  return (LC_ALL || LC_MESSAGES || LANG)?.startsWith('zh') === true ? 'zh-CN' : 'en';
}
