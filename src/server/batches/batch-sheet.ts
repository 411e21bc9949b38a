import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import {
  BATCH_KEPT_DAYS,
  BATCH_LIMITS,
  type Batch,
  type BatchLine,
  type NewSheet,
  SHEET_COLUMNS,
  type Sheet,
  type SheetRow,
} from '../../contract/batches.ts';
import { formatMessage, type Locale } from '../../contract/messages/format-message.ts';
import { asObject, defined } from '../../contract/objects.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { FileService } from '../files/file-service.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import { type AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { isWellFormedText } from '../platform/text.ts';
import type { Video } from '../video/module.ts';
import type { BatchOwner, BatchService } from './batch-service.ts';
import type { BatchRow, BatchStore, LineRow } from './batch-store.ts';

/** A row of a sheet, as text. */
interface ParsedRow {
  /** First line of the row in the text, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** A sheet before its rows are checked. */
export interface ParsedSheet {
  readonly columns: readonly string[];
  readonly rows: readonly ParsedRow[];
}

const DELIMITERS: readonly string[] = [',', ';', '\t'];
const METADATA_COLUMN = /^metadata\.(?!__proto__$|constructor$|prototype$)[\w-]{1,64}$/;
const MAX_COLUMNS = 100;
/** Characters in which the separator is looked for. */
const HEADER_LENGTH = 16_384;

/**
 * Parses CSV (RFC 4180) with a header. Separators may be commas, semicolons or tabs, whichever the header has most of,
 * because spreadsheet programs write what their locale uses.
 * @throws AppError `invalid_request` for a sheet whose columns cannot be understood
 */
function parseSheet(csv: string): ParsedSheet {
  // Decoding has replaced bytes that are not UTF-8; videos of such prompts would be garbled, and charged.
  if (csv.includes('\ufffd'))
    throw invalidRequest('csv was not saved as UTF-8: in Excel, choose the type "CSV UTF-8".', 'csv');
  // Excel for Mac ends lines with a carriage return alone.
  const text = csv.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const [header, ...rows] = parseRows(text, delimiterOf(text));
  if (header === undefined || rows.length === 0) throw invalidRequest('csv needs a header and a row.', 'csv');
  if (header.cells.length > MAX_COLUMNS) throw invalidRequest(`csv has more than ${MAX_COLUMNS} columns.`, 'csv');
  const columns = header.cells.map((cell) => cell.trim());
  const known: readonly string[] = SHEET_COLUMNS;
  for (const [index, column] of columns.entries()) {
    if (!known.includes(column) && !METADATA_COLUMN.test(column))
      throw invalidRequest(`csv has the unknown column "${column.slice(0, 64)}".`, 'csv');
    if (columns.indexOf(column) !== index) throw invalidRequest(`csv has the column "${column}" twice.`, 'csv');
  }
  return { columns, rows };
}

/** The separator that the first line has most of, outside quotes. */
function delimiterOf(text: string): string {
  const counts = new Map(DELIMITERS.map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of text.slice(0, HEADER_LENGTH)) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === '\n') break;
    else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  return DELIMITERS.find((delimiter) => counts.get(delimiter) === most) ?? ',';
}

/**
 * Rows without those that are empty, and without empty cells at their end, which spreadsheets write for columns that
 * were used once. A quote inside an unquoted cell is text.
 */
function parseRows(text: string, delimiter: string): ParsedRow[] {
  const rows: ParsedRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let begun = 1;
  const endRow = (): void => {
    cells.push(cell);
    cells.length = cells.findLastIndex((each) => each.trim() !== '') + 1;
    if (cells.length > 0) rows.push({ line: begun, cells });
    if (rows.length > BATCH_LIMITS.sheetRows + 1)
      throw invalidRequest(`csv has more than ${BATCH_LIMITS.sheetRows} rows.`, 'csv');
    [cells, cell] = [[], ''];
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '\n') line++;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') cell += text[at++];
      else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === delimiter) {
      cells.push(cell);
      cell = '';
    } else if (character === '\n') {
      endRow();
      begun = line;
    } else cell += character;
  }
  if (isQuoted) throw invalidRequest(`csv has a quote in line ${begun} that is not closed.`, 'csv');
  endRow();
  return rows;
}

interface BatchSheetsDependencies {
  readonly store: BatchStore;
  readonly service: BatchService;
  readonly files: Pick<FileService, 'write'>;
  readonly video: Pick<Video, 'services'>;
  readonly outlook: Pick<AffordableCallCounts, 'of'>;
  readonly callerOf: (owner: BatchOwner) => Promise<ModelCaller>;
}

const ENDPOINT = '/v1/videos';
/** Columns that are inputs of a video, by URL or by the id of a file. */
const INPUT_COLUMNS: Readonly<Record<string, { readonly type: string; readonly role: string }>> = {
  first_frame: { type: 'image', role: 'first_frame' },
  last_frame: { type: 'image', role: 'last_frame' },
  reference: { type: 'image', role: 'reference' },
  video: { type: 'video', role: 'reference' },
  audio: { type: 'audio', role: 'voice' },
};
const METADATA = 'metadata.';
/** Lines that are read at once; a result may have megabytes. */
const PAGE = 16;
/** Longest time rows are checked before the process does other work. */
const TURN_MS = 20;

/** Sheets of videos as CSV: checked row by row, priced, started as a batch; results of batches as CSV. */
export class BatchSheets {
  readonly #dependencies: BatchSheetsDependencies;
  constructor(dependencies: BatchSheetsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Checks and prices every row; starts the batch if that is asked for and every row is valid. */
  async check(owner: BatchOwner, given: NewSheet, locale: Locale): Promise<Sheet> {
    const { columns, rows: parsed } = parseSheet(given.csv);
    const caller = await this.#dependencies.callerOf(owner);
    const check = new RowCheck(this.#dependencies, caller, columns, given.model, locale);
    const checked: CheckedRow[] = [];
    let turnEndsAt = performance.now() + TURN_MS;
    for (const row of parsed) {
      checked.push(await check.row(row));
      // Thousands of rows take seconds, and neither an invalid row nor a read of SQLite waits for an event.
      if (performance.now() < turnEndsAt) continue;
      await nextTurn();
      turnEndsAt = performance.now() + TURN_MS;
    }
    const rows = checked.map(({ row }) => row);
    const invalid = rows.filter(({ errors }) => errors.length > 0).length;
    const { balance } = await this.#dependencies.outlook.of({ userId: owner.userId }, 0);
    return {
      columns: [...columns],
      rows,
      valid: rows.length - invalid,
      invalid,
      quota: rows.reduce((sum, { quota }) => sum + (quota ?? 0), 0),
      balance,
      batch: given.start === true && invalid === 0 ? await this.#start(owner, given, checked) : null,
    };
  }

  async #start(owner: BatchOwner, given: NewSheet, checked: readonly CheckedRow[]): Promise<Batch> {
    const { files, service } = this.#dependencies;
    const lines = checked.map(
      ({ row, body }) => `${JSON.stringify({ custom_id: row.custom_id, method: 'POST', url: ENDPOINT, body })}\n`,
    );
    const file = { filename: 'sheet.jsonl', purpose: 'batch', lifetimeMs: BATCH_KEPT_DAYS * DAY_MS } as const;
    const { id } = await files.write(owner, file, lines);
    const { completion_window, metadata = null, budget = null } = given;
    const batch = defined({ input_file_id: id, endpoint: ENDPOINT, metadata, budget, completion_window });
    return service.create(owner, batch);
  }

  /** Lines of a batch in order. */
  async lines(
    batch: BatchRow,
    after: number,
    state: LineRow['state'] | undefined,
  ): Promise<{ lines: BatchLine[]; next: string | null }> {
    const states = state === undefined ? undefined : state === 'running' ? (['running', 'sending'] as const) : [state];
    const rows = await this.#dependencies.store.listLines(batch.id, after, 100, states);
    const last = rows.at(-1);
    return { lines: rows.map(toBatchLine), next: last === undefined || rows.length < 100 ? null : String(last.line) };
  }

  /** CSV of all lines. Cells that a spreadsheet would run as a formula get a leading apostrophe. */
  async *results(batch: BatchRow): AsyncGenerator<string> {
    const columns = [
      'line',
      'custom_id',
      'state',
      'video_id',
      'video_url',
      'text',
      'quota',
      'error_code',
      'error_message',
    ];
    yield stringify([columns], { bom: true, record_delimiter: '\r\n' });
    let after = 0;
    for (;;) {
      const rows = await this.#dependencies.store.listLines(batch.id, after, PAGE);
      yield stringify(rows.map(toCells), { escape_formulas: true, record_delimiter: '\r\n' });
      after = rows.at(-1)?.line ?? after;
      if (rows.length < PAGE) return;
    }
  }
}

interface CheckedRow {
  readonly row: SheetRow;
  readonly body: object;
}

interface KnownPrice {
  readonly quota: number;
  readonly dropped: readonly string[];
  readonly promptLength: number;
}

/** Checks the rows of one sheet. */
class RowCheck {
  readonly #dependencies: BatchSheetsDependencies;
  readonly #caller: ModelCaller;
  readonly #columns: readonly string[];
  readonly #model: string | undefined;
  readonly #locale: Locale;
  readonly #ids = new Set<string>();
  /** Quotes of rows that differ in their prompts only. */
  readonly #prices = new Map<string, KnownPrice>();

  constructor(
    dependencies: BatchSheetsDependencies,
    caller: ModelCaller,
    columns: readonly string[],
    model: string | undefined,
    locale: Locale,
  ) {
    this.#dependencies = dependencies;
    this.#caller = caller;
    this.#columns = columns;
    this.#model = model;
    this.#locale = locale;
  }

  async row({ line, cells }: ParsedRow): Promise<CheckedRow> {
    const values = new Map(this.#columns.map((column, index) => [column, (cells[index] ?? '').trim()]));
    const errors: SheetRow['errors'] = [];
    const report = (column: string | null, en: string, zh: string): void => {
      errors.push({ column, message: this.#locale === 'zh-CN' ? zh : en });
    };
    const customId = values.get('custom_id') || `row-${line}`;
    if (cells.length > this.#columns.length)
      report(null, 'The row has more cells than columns.', '该行的单元格多于列数。');
    if (customId.length > BATCH_LIMITS.customIdLength) report('custom_id', 'It is too long.', '内容过长。');
    if (this.#ids.has(customId)) report('custom_id', 'Another row has the same value.', '与其他行重复。');
    if (!cells.every(isWellFormedText)) report(null, 'The row has invalid characters.', '该行包含无效字符。');
    this.#ids.add(customId);
    const body = toBody(values, this.#model);
    const priced = errors.length === 0 ? await this.#price(body) : undefined;
    if (priced !== undefined && 'code' in priced)
      errors.push({ column: this.#columnOf(priced.options.param), message: this.#messageOf(priced) });
    const known = priced === undefined || 'code' in priced ? undefined : priced;
    return {
      body,
      row: {
        line,
        custom_id: customId,
        cells: this.#columns.map((column) => values.get(column) ?? ''),
        quota: known?.quota ?? null,
        errors,
        dropped: [...(known?.dropped ?? [])],
      },
    };
  }

  async #price(body: SheetBody): Promise<KnownPrice | AppError> {
    const { prompt = '', ...rest } = body;
    // A prompt with options of its own (`--ratio 9:16`) has its own price.
    const key = prompt.includes('--') || prompt === '' ? undefined : JSON.stringify(rest);
    const known = key === undefined ? undefined : this.#prices.get(key);
    if (known !== undefined && prompt.length <= known.promptLength) return known;
    try {
      const price = await this.#quote(body);
      if (key !== undefined) this.#prices.set(key, price);
      return price;
    } catch (error) {
      if (isAppError(error)) return error;
      throw error;
    }
  }

  async #quote(body: SheetBody): Promise<KnownPrice> {
    const { requests, submitter } = this.#dependencies.video.services;
    const generation = await requests.read(requests.check(body), this.#caller);
    let dropped = '';
    const { userId, actorId, models } = this.#caller;
    const { price } = await submitter.quote(defined({ userId, actorId, models }), generation, (headers) => {
      dropped = headers['x-reelgate-dropped'] ?? '';
    });
    const paths = dropped === '' ? [] : dropped.split(', ');
    return { quota: price, dropped: paths, promptLength: body.prompt?.length ?? 0 };
  }

  #messageOf({ code, options }: AppError): string {
    return options.message ?? formatMessage(options.messageKey ?? code, this.#locale, options.params);
  }

  /** The column that a field of the body came from. */
  #columnOf(param: string | undefined): string | null {
    if (param === undefined) return null;
    const index = /^inputs\[(\d+)\]/.exec(param)?.[1];
    const inputs = this.#columns.filter((column) => INPUT_COLUMNS[column] !== undefined);
    const column = index === undefined ? param : inputs[Number(index)];
    return column !== undefined && this.#columns.includes(column) ? column : null;
  }
}

interface SheetBody {
  readonly prompt?: string;
  readonly [field: string]: unknown;
}

/** The body of a row's request; empty cells are left out. */
function toBody(values: ReadonlyMap<string, string>, model: string | undefined): SheetBody {
  const body: { [field: string]: unknown } = {};
  const inputs: object[] = [];
  const metadata: { [name: string]: unknown } = {};
  for (const [column, value] of values) {
    if (value === '' || column === 'custom_id') continue;
    const input = INPUT_COLUMNS[column];
    if (input !== undefined)
      inputs.push(value.startsWith('file-') ? { role: input.role, file_id: value } : { ...input, url: value });
    else if (column.startsWith(METADATA)) metadata[column.slice(METADATA.length)] = toValue(value);
    else body[column] = value;
  }
  return defined({
    model,
    ...body,
    inputs: inputs.length > 0 ? inputs : undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
  });
}

/** Numbers and booleans of metadata are written as such; every other cell is text. */
const toValue = (cell: string): unknown =>
  cell === 'true' || cell === 'false'
    ? cell === 'true'
    : /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?$/.test(cell)
      ? Number(cell)
      : cell;

interface StoredResult {
  readonly response: { readonly status_code: number; readonly body: unknown } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The reason of a failed line: its own, or that of its response. */
function errorOf({ response, error }: StoredResult): BatchLine['error'] {
  if (error !== null) return { code: error.code, message: error.message };
  const refusal = asObject(asObject(response?.body)?.error);
  if (response === null || response.status_code < 400) return null;
  const { code, message } = refusal ?? {};
  return {
    code: typeof code === 'string' ? code : String(response.status_code),
    message: typeof message === 'string' ? message : '',
  };
}

function toBatchLine({ line, custom_id, state, amount, result }: LineRow): BatchLine {
  const stored = result === null ? undefined : (JSON.parse(result) as StoredResult);
  const body = asObject(stored?.response?.body);
  const video = body?.object === 'video' && typeof body.id === 'string' ? body.id : null;
  return {
    line,
    custom_id,
    state,
    quota: amount,
    video_id: video,
    error: stored === undefined ? null : errorOf(stored),
  };
}

/** The text of a model call's answer, in OpenAI's two forms. */
function textOf(result: string | null): string {
  const body = result === null ? undefined : asObject((JSON.parse(result) as StoredResult).response?.body);
  const [choice] = Array.isArray(body?.choices) ? body.choices : [];
  const text = asObject(asObject(choice)?.message)?.content ?? body?.output_text;
  return typeof text === 'string' ? text : '';
}

function toCells(row: LineRow): (string | number)[] {
  const { line, custom_id, state, video_id: video, quota, error } = toBatchLine(row);
  const url = video === null || state !== 'completed' ? '' : `${ENDPOINT}/${encodeURIComponent(video)}/content`;
  return [line, custom_id, state, video ?? '', url, textOf(row.result), quota, error?.code ?? '', error?.message ?? ''];
}
