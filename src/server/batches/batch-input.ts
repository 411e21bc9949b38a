import { BATCH_LIMITS } from '../../contract/batches.ts';
import { isObject, type UntrustedObject } from '../../contract/objects.ts';
import { JsonRejectedError, parseRequestJson } from '../platform/json.ts';
import type { NewLine } from './batch-store.ts';

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const MAX_LINE_BYTES = BATCH_LIMITS.lineMb * 1024 ** 2;
/** Defects of a file that are reported; more would not help anybody. */
const MAX_DEFECTS = 100;

/** A line of a file. */
export interface FileLine {
  /** From 1. */
  readonly line: number;
  /** Position in the file, bytes. */
  readonly start: number;
  /** Length in the file, without the line feed. */
  readonly size: number;
  /** Without trailing blanks; undefined if the line exceeds the maximum length. */
  readonly bytes: Buffer | undefined;
}

/** A defect of a line, or of the whole file (`line` null), as OpenAI's `errors.data` has them. */
export interface InputDefect {
  readonly code: string;
  readonly line: number | null;
  readonly message: string;
  readonly param: string | null;
}

/** Splits a file as it arrives. Blank lines are counted and left out. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileLine> {
  let line = 1;
  let start = 0;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (rest: Buffer): FileLine | undefined => {
    const isTooLong = length + rest.length > MAX_LINE_BYTES;
    const bytes = isTooLong ? undefined : cleanLine(Buffer.concat([...parts, rest]), line);
    const found = bytes?.length === 0 ? undefined : { line, start, size: length + rest.length, bytes };
    start += length + rest.length + 1;
    line++;
    parts = [];
    length = 0;
    return found;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const found = take(chunk.subarray(from, end));
      if (found !== undefined) yield found;
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    // The bytes of a line that is too long are counted only.
    if (length + rest.length <= MAX_LINE_BYTES) parts.push(rest);
    length += rest.length;
  }
  const last = take(Buffer.alloc(0));
  if (last !== undefined) yield last;
}

/** A line without a byte order mark and blanks around its JSON. */
export function cleanLine(bytes: Buffer, line: number): Buffer {
  const text = line === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
  let end = text.length;
  while (end > 0 && (text[end - 1] ?? 0) <= 0x20) end--;
  return text.subarray(0, end);
}

/** The request of a line. */
export interface LineRequest {
  readonly customId: string;
  readonly body: UntrustedObject;
}

/** Parses one line. @returns its request, or the first defect */
export function parseLine(bytes: Buffer, endpoint: string): LineRequest | Omit<InputDefect, 'line'> {
  const value = parse(bytes);
  if (!isObject(value)) return defect('invalid_json_line', 'The line is not a JSON object.');
  const { custom_id: customId, method, url, body } = value;
  if (typeof customId !== 'string' || customId === '')
    return defect('missing_required_parameter', 'custom_id is required and must be text.', 'custom_id');
  if (customId.length > BATCH_LIMITS.customIdLength)
    return defect(
      'invalid_custom_id',
      `custom_id has more than ${BATCH_LIMITS.customIdLength} characters.`,
      'custom_id',
    );
  if (method !== 'POST') return defect('invalid_method', 'method must be POST.', 'method');
  if (url !== endpoint)
    return defect('mismatched_endpoint', `url must be the endpoint of the batch, ${endpoint}.`, 'url');
  if (!isObject(body)) return defect('missing_required_parameter', 'body is required and must be an object.', 'body');
  if (body.stream === true) return defect('stream_unsupported', 'body.stream: a batch cannot stream.', 'body.stream');
  return { customId, body };
}

function parse(bytes: Buffer): unknown {
  try {
    return parseRequestJson(bytes);
  } catch (error) {
    if (error instanceof JsonRejectedError) return undefined;
    throw error;
  }
}

const defect = (code: string, message: string, param: string | null = null) => ({ code, message, param });

/** Checks the lines of a file one by one: their form, and that every `custom_id` is unique. */
export class InputCheck {
  readonly #endpoint: string;
  readonly #known = new Set<string>();
  readonly #defects: InputDefect[] = [];
  #model: string | undefined;
  #isStopped = false;

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  /** @returns the line to store; undefined for one with a defect */
  push({ line, start, size, bytes }: FileLine): NewLine | undefined {
    if (bytes === undefined)
      return this.#report(line, defect('line_too_long', `A line has at most ${BATCH_LIMITS.lineMb} MB.`));
    const parsed = parseLine(bytes, this.#endpoint);
    if ('code' in parsed) return this.#report(line, parsed);
    const { customId, body } = parsed;
    if (this.#known.has(customId))
      return this.#report(line, defect('duplicate_custom_id', 'custom_id is used by an earlier line.', 'custom_id'));
    this.#known.add(customId);
    if (this.#known.size > BATCH_LIMITS.lines) {
      this.#isStopped = true;
      return this.#report(line, defect('too_many_lines', `A batch has at most ${BATCH_LIMITS.lines} lines.`));
    }
    if (typeof body.model === 'string') this.#model ??= body.model.slice(0, 200);
    return { line, custom_id: customId, start, bytes: size };
  }

  /** Whether more lines would change nothing. */
  get isStopped(): boolean {
    return this.#isStopped || this.#defects.length >= MAX_DEFECTS;
  }

  get model(): string | undefined {
    return this.#model;
  }

  get lineCount(): number {
    return this.#known.size;
  }

  /** All defects, after the file has been read. */
  end(): readonly InputDefect[] {
    if (this.#known.size === 0 && this.#defects.length === 0)
      return [{ ...defect('empty_file', 'The file has no lines.'), line: null }];
    return this.#defects;
  }

  #report(line: number, found: Omit<InputDefect, 'line'>): undefined {
    this.#defects.push({ ...found, line });
  }
}
