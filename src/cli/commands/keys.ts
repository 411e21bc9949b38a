import type { Command } from 'commander';
import { toSeconds } from '../../contract/time-units.ts';
import type { ApiToken, UpdateTokenRequest } from '../../sdk/account.ts';
import {
  parseCredits,
  parseHours,
  parsePositiveInteger,
  parseRowId,
  parseSpendLimit,
  repeatableOption,
  type TypedSpendLimit,
} from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { formatSpendLimit, loadCreditFormat, toQuota, toSpendLimit } from '../credit-format.ts';
import {
  authorColumn,
  dateTime,
  formatDateTime,
  formatTable,
  joinTexts,
  phrase,
  type Rendering,
  relativeTime,
  word,
} from '../output.ts';
import { reauthenticate } from '../reauthenticate.ts';
import type { RunCommand } from '../run-command.ts';

interface CreateOptions {
  readonly days?: number;
  readonly credits?: number;
  readonly spendLimit?: TypedSpendLimit | 'none';
  readonly model: readonly string[];
  readonly from: readonly string[];
  readonly rpm?: number;
  readonly tpm?: number;
  readonly calls?: number;
  readonly videos?: number;
  readonly waiting?: number;
}

/** `reelgate keys …` */
export function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = program
    .command('keys')
    .alias('tokens')
    .description('API keys (sk-…) of the account; asks for your password')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate keys\n  $ reelgate keys create ci --days 90 --model kling-v3\n  $ reelgate keys rotate 7 --overlap 48\n  $ reelgate keys revoke 7',
    );

  keys
    .command('list', { isDefault: true })
    .description('List the keys; only the first letters of each are shown')
    .action((_options: unknown, command: Command) =>
      run(command, async (session) => {
        const rows = await reauthenticate(session, ({ reelgate, headers }) => reelgate.account.tokens({ headers }));
        const credits = await loadCreditFormat(session.reelgate);
        const author = authorColumn(rows, (row) => row.created_by);
        const limits = ['EXPIRES', 'LIMIT', 'SPEND LIMIT', 'RATES', 'MODELS', 'FROM'];
        const table = formatTable(
          ['ID', 'NAME', 'KEY', 'CREATED', 'LAST USED', ...limits, ...author.head],
          rows.map((row) => [
            String(row.id),
            row.name,
            [row.key_hint, ...row.old_keys.map((old) => old.key_hint)].map((hint) => `${hint}…`).join(', '),
            relativeTime(row.created_time),
            row.last_used_time === null ? word('never') : relativeTime(row.last_used_time),
            row.expires_at === null ? word('never') : dateTime(row.expires_at),
            row.quota_limit === null ? word('none') : phrase`${credits(row.quota_used)} of ${credits(row.quota_limit)}`,
            row.spend_limit === null ? word('none') : formatSpendLimit(row.spend_limit, credits),
            formatRates(row),
            row.models.length === 0 ? word('all') : row.models.join(', '),
            row.allowed_addresses.length === 0 ? word('anywhere') : row.allowed_addresses.join(', '),
            ...author.cells(row),
          ]),
        );
        session.output.list(rows, table, 'No API keys. Create one with "reelgate keys create NAME".');
      }),
    );

  addCreateCommand(keys, run);
  addLimitCommand(keys, run);
  addRotateCommand(keys, run);

  keys
    .command('revoke')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Revoke a key at once')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async (session) => {
        await reauthenticate(session, ({ reelgate, headers }) => reelgate.account.revokeToken(id, { headers }));
        session.output.result({ id, revoked: true }, `Revoked key ${id}.`);
      }),
    );
}

function addCreateCommand(keys: Command, run: RunCommand): void {
  keys
    .command('create')
    .alias('make')
    .argument('<name>', 'what it is for')
    .option('--days <n>', 'days until it expires; default: never', parsePositiveInteger)
    .option('--credits <amount>', 'spending limit, in credits or in the currency of the service', parseCredits)
    .option('--spend-limit <amount/period>', 'limit per day, week or month, such as 5000/month', parseSpendLimit)
    .addOption(repeatableOption('--model <id>', 'only this model; repeatable', 'all'))
    .addOption(repeatableOption('--from <address>', 'only from this IP address or CIDR range; repeatable', 'anywhere'))
    .option('--rpm <n>', 'requests a minute', parsePositiveInteger)
    .option('--tpm <n>', 'tokens a minute', parsePositiveInteger)
    .option('--calls <n>', 'concurrent model calls', parsePositiveInteger)
    .option('--videos <n>', 'concurrent videos', parsePositiveInteger)
    .option('--waiting <n>', 'videos that may wait for a slot', parsePositiveInteger)
    .description('Create a key; it is shown only now')
    .action((name: string, options: CreateOptions, command: Command) =>
      run(command, async (session) => {
        const request = {
          name,
          expires_at: options.days === undefined ? undefined : toSeconds(Date.now()) + options.days * 86_400,
          ...(await toLimits(session, options)),
          models: [...options.model],
          allowed_addresses: [...options.from],
          requests_per_minute: options.rpm,
          tokens_per_minute: options.tpm,
          concurrent_calls: options.calls,
          concurrent_tasks: options.videos,
          queued_tasks: options.waiting,
        };
        const made = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.account.createToken(request, { headers }),
        );
        session.output.info(`Key ${made.id}. Store it now: it is not shown again.`);
        session.output.result(made, made.key);
      }),
    );
}

const HOUR_SECONDS = 3_600;
const DEFAULT_OVERLAP_HOURS = 24;

function addRotateCommand(keys: Command, run: RunCommand): void {
  keys
    .command('rotate')
    .argument('<id>', 'an id from the list', parseRowId)
    .option('--overlap <hours>', 'how long the old secret still works, at most 168 hours; default: 24', parseHours)
    .option('--end', 'end the old secrets now instead')
    .description('Give a key a new secret; it is shown only now, and the old one works for a while')
    .action((id: number, options: { readonly overlap?: number; readonly end?: boolean }, command: Command) =>
      run(command, async (session) => {
        if (options.end === true) {
          await reauthenticate(session, ({ reelgate, headers }) => reelgate.account.endTokenRotation(id, { headers }));
          session.output.result({ id, ended: true }, `The old secrets of key ${id} no longer work.`);
          return;
        }
        const seconds = Math.round((options.overlap ?? DEFAULT_OVERLAP_HOURS) * HOUR_SECONDS);
        const rotated = await reauthenticate(session, ({ reelgate, headers }) =>
          reelgate.account.rotateToken(id, seconds, { headers }),
        );
        const end = rotated.old_key_expires_at;
        session.output.info(
          end === null
            ? `New secret of key ${id}. Store it now: it is not shown again. The old one no longer works.`
            : `New secret of key ${id}. Store it now: it is not shown again. The old one works until ${formatDateTime(end)}.`,
        );
        session.output.result(rotated, rotated.key);
      }),
    );
}

function addLimitCommand(keys: Command, run: RunCommand): void {
  keys
    .command('limit')
    .argument('<id>', 'an id from the list', parseRowId)
    .option('--credits <amount>', 'spending limit in all', parseCredits)
    .option(
      '--spend-limit <amount/period>',
      'limit per day, week or month, such as 5000/month, or none',
      parseSpendLimit,
    )
    .description('Change what a key may spend')
    .action((id: number, options: Pick<CreateOptions, 'credits' | 'spendLimit'>, command: Command) =>
      run(command, async (session) => {
        const limits = await toLimits(session, options);
        const key = await reauthenticate(session, async ({ reelgate, headers }) => {
          await reelgate.account.updateToken(id, limits, { headers });
          return reelgate.account.token(id, { headers });
        });
        session.output.result(key, `Changed key ${id}.`);
      }),
    );
}

/** Converts amounts to quota. */
async function toLimits(
  { reelgate }: CommandContext,
  { credits, spendLimit }: Pick<CreateOptions, 'credits' | 'spendLimit'>,
): Promise<Pick<UpdateTokenRequest, 'quota_limit' | 'spend_limit'>> {
  return {
    quota_limit: await toQuota(reelgate, credits),
    spend_limit: await toSpendLimit(reelgate, spendLimit),
  };
}

function formatRates(row: ApiToken): Rendering {
  const parts = [
    [row.requests_per_minute, (limit: number) => phrase`${limit} requests/min`],
    [row.tokens_per_minute, (limit: number) => phrase`${limit} tokens/min`],
    [row.concurrent_calls, (limit: number) => phrase`${limit} concurrent calls`],
    [row.concurrent_tasks, (limit: number) => phrase`${limit} concurrent videos`],
    [row.queued_tasks, (limit: number) => phrase`${limit} waiting videos`],
  ] as const;
  const shown = parts.flatMap(([limit, format]) => (limit === null ? [] : [format(limit)]));
  return shown.length === 0 ? word('none') : joinTexts(shown, ', ');
}
