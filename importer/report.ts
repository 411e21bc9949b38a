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

/** Renders the report as a self-contained page for reading and archiving. */
export function toReportPage(report: ImportReport): string {
  const { proof } = report;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${TITLES[report.mode]}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #8884; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
</style>
<h1>${TITLES[report.mode]}</h1>
<p>${report.program} (${report.generation}), ${report.engine}: ${report.source}. ${report.madeAt}</p>
${proof === undefined ? undefined : proofPart(proof)}
${report.warnings.map((warning) => html`<p><strong>${warning}</strong></p>`)}
<h2>Rows</h2>
<table>
<tr><th>Kind<th>Read<th>Imported<th>Skipped</tr>
${Object.entries(report.counts).map(
  ([kind, { read, imported, skipped }]) =>
    html`<tr><td>${kind}<td class="number">${read}<td class="number">${imported}<td class="number">${skipped}</tr>`,
)}
</table>
<h2>Sums, in quota</h2>
<table>
${Object.entries(report.sums).map(
  ([name, sum]) => html`<tr><td>${SUM_TITLES[name] ?? name}<td class="number">${sum}</tr>`,
)}
</table>
<h2>What does not come over, or is different</h2>
${list(report.findings.map(({ kind, source, result, text }) => [kind, source, result, text]))}
</html>
`.text;
}

const TITLES = { 'dry-run': 'What an import would do', apply: 'Import', verify: 'Check of an import' } as const;

const SUM_TITLES: Readonly<Record<string, string>> = {
  balance: 'Balances of the accounts that come over',
  granted: 'of it into wallets',
  debts: 'Debts: accounts that were overdrawn there start with 0 here',
  leftBehind: 'Balances of accounts that do not come over',
  keyLimits: 'What limited keys may still spend',
  codes: 'Unused redemption codes',
  subscriptions: 'What running plans still cover; not carried over',
  endedTasks: 'Paid for videos that had ended; shown as history',
  unfinishedTasks: 'Paid for videos that are not finished',
  heldTasks: 'of it held here for those that are polled on',
};

const proofPart = ({ discrepancies, changes }: NonNullable<ImportReport['proof']>): Markup =>
  discrepancies.length === 0
    ? html`<p><strong>Everything agrees:</strong> each account has what it had, each key works for its account, the ledger adds up.
</p>
${changes.length === 0 ? '' : html`<h2>Changed here since</h2>${list(changes.map(({ kind, source, text }) => [kind, source, text]))}`}`
    : html`<h2>What does not agree</h2>
${list(discrepancies.map(({ kind, source, text }) => [kind, source, text]))}`;

const list = (rows: readonly (readonly string[])[]): Markup =>
  rows.length === 0
    ? html`<p>Nothing.</p>`
    : html`<table>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}`)}</tr>`)}
</table>`;
