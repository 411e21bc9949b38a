import { BATCH_LIMITS, SHEET_COLUMNS } from '../../contract/batches.ts';
import { invalidRequest } from '../platform/app-error.ts';

/** A row of a sheet, as text. */
export interface ParsedRow {
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
export function parseSheet(csv: string): ParsedSheet {
  const text = csv.replace(/^\ufeff/, '');
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
    else if (character === '\n' || character === '\r') break;
    else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  return DELIMITERS.find((delimiter) => counts.get(delimiter) === most) ?? ',';
}

/** Rows without those that are empty. A quote inside an unquoted cell is text. */
function parseRows(text: string, delimiter: string): ParsedRow[] {
  const rows: ParsedRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let begun = 1;
  const endRow = (): void => {
    cells.push(cell);
    if (cells.some((each) => each.trim() !== '')) rows.push({ line: begun, cells });
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
    } else if (character !== '\r') cell += character;
  }
  if (isQuoted) throw invalidRequest(`csv has a quote in line ${begun} that is not closed.`, 'csv');
  endRow();
  return rows;
}
