import { html, type Markup } from '../src/server/platform/html.ts';
import type { EngineName, Generation, ProgramName } from './source.ts';
import type { Finding, ImportSummary, ImportSums, KindCount } from './summary.ts';
import type { Discrepancy } from './verify.ts';

interface ReportHead {
  readonly mode: 'dry-run' | 'apply' | 'verify';
  /** ISO 8601. */
  readonly madeAt: string;
  readonly source: string;
  readonly engine: EngineName;
  readonly program: ProgramName;
  readonly generation: Generation;
}

/**
 * The result of an import by row, listing only rows with remarks. Sums are decimal text, because they may exceed 2^53.
 */
export interface ImportReport extends ReportHead {
  readonly counts: Readonly<Record<string, KindCount>>;
  readonly sums: Readonly<Record<keyof ImportSums, string>>;
  readonly warnings: readonly string[];
  readonly findings: readonly Finding[];
  /** Set by an apply or a verification; empty lists if everything matches. */
  readonly proof?:
    | { readonly discrepancies: readonly Discrepancy[]; readonly changes: readonly Discrepancy[] }
    | undefined;
}

/** Builds the report of an import. */
export function buildReport(head: ReportHead, found: ImportSummary, proof: ImportReport['proof']): ImportReport {
  const { mode, madeAt, source, engine, program, generation } = head;
  const sums = Object.entries(found.sums).map(([name, sum]: [string, bigint]) => [name, String(sum)]);
  const report = {
    mode,
    madeAt,
    source,
    engine,
    program,
    generation,
    counts: Object.fromEntries(found.counts),
    sums: Object.fromEntries(sums) as ImportReport['sums'],
    warnings: found.warnings,
    findings: found.findings,
  };
  return proof === undefined ? report : { ...report, proof };
}

/** Translates the texts of the page, which are English. */
interface PageTranslation {
  /** Language of the translated texts, as in HTML's `lang`. */
  readonly language: string;
  /** Translates a heading, a label or the name of a kind. */
  readonly phrase: (text: string) => string;
  /** Translates a remark, which contains its values. */
  readonly message: (text: string) => string;
}

/** Renders the report as a self-contained page for reading and archiving. */
export function toReportPage(report: ImportReport, translation: PageTranslation): string {
  const { mode, proof } = report;
  const { phrase: word, message: sentence } = translation;
  const title = word(
    mode === 'dry-run' ? 'What an import would do' : mode === 'apply' ? 'Import' : 'Check of an import',
  );
  return html`<!doctype html>
<html lang="${translation.language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
</style>
<h1>${title}</h1>
<p>${report.program} (${report.generation}), ${report.engine}: ${report.source}. ${report.madeAt}</p>
${proof === undefined ? undefined : proofPart(proof, translation)}
${report.warnings.map((warning) => html`<p><strong>${sentence(warning)}</strong></p>`)}
<h2>${word('Rows')}</h2>
<table>
<tr><th>${word('Kind')}<th>${word('Read')}<th>${word('Imported')}<th>${word('Skipped')}</tr>
${Object.entries(report.counts).map(
  ([kind, { read, imported, skipped }]) =>
    html`<tr><td>${word(kind)}<td class="number">${read}<td class="number">${imported}<td class="number">${skipped}</tr>`,
)}
</table>
<h2>${word('Sums, in the smallest unit of credits')}</h2>
<table>
${sumRows(report.sums, word).map(([name, sum]) => html`<tr><td>${name}<td class="number">${sum}</tr>`)}
</table>
<h2>${word('What does not come over, or is different')}</h2>
${list(report.findings, translation)}
</html>
`.text;
}

const sumRows = (
  sums: ImportReport['sums'],
  word: PageTranslation['phrase'],
): readonly (readonly [string, string])[] => [
  [word('Balances of the accounts that come over'), sums.balance],
  [word('of it added to balances'), sums.granted],
  [word('Debts: accounts that were overdrawn there start with 0 here'), sums.debts],
  [word('Balances of accounts that do not come over'), sums.leftBehind],
  [word('What limited keys may still spend'), sums.keyLimits],
  [word('Unused redemption codes'), sums.codes],
  [word('What running plans still cover; not carried over'), sums.subscriptions],
  [word('Paid for videos that had ended; shown as history'), sums.endedTasks],
  [word('Paid for videos that are not finished'), sums.unfinishedTasks],
  [word('of it held here for those that are polled on'), sums.heldTasks],
];

function proofPart(
  { discrepancies, changes }: NonNullable<ImportReport['proof']>,
  translation: PageTranslation,
): Markup {
  const { phrase: word } = translation;
  if (discrepancies.length > 0)
    return html`<h2>${word('What does not agree')}</h2>
${list(discrepancies, translation)}`;
  return html`<p><strong>${word('Proved: each account has what it had, each key works for its account, the ledger adds up.')}</strong></p>
${changes.length === 0 ? '' : html`<h2>${word('Changed here since')}</h2>${list(changes, translation)}`}`;
}

const list = (
  rows: readonly (Finding | Discrepancy)[],
  { phrase: word, message: sentence }: PageTranslation,
): Markup =>
  rows.length === 0
    ? html`<p>${word('Nothing.')}</p>`
    : html`<table>
${rows.map((row) => {
  const result = 'result' in row ? html`<td>${word(row.result)}` : undefined;
  return html`<tr><td>${word(row.kind)}<td>${row.source}${result}<td>${sentence(row.text)}</tr>`;
})}
</table>`;
