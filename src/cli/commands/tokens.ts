import { type Command, InvalidArgumentError } from 'commander';
import { asOwner } from '../owner.ts';
import type { RunCommand } from '../run.ts';
import { toAge, toTable, toTime } from '../text.ts';
import { rowId } from './devices.ts';

const days = (text: string): number => {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Give a whole number of days.');
  return Number(text);
};
const quota = (text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
};
const collect = (value: string, list: readonly string[]): readonly string[] => [...list, value];

interface MakeOptions {
  readonly days?: number;
  readonly quota?: number;
  readonly model: readonly string[];
}

/** `reelgate tokens …` */
export function addTokenCommands(program: Command, run: RunCommand): void {
  const tokens = program
    .command('tokens')
    .description('API keys (sk-…) of the account; asks for your password')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate tokens\n  $ reelgate tokens make ci --days 90 --model sora-2\n  $ reelgate tokens revoke 7',
    );

  tokens
    .command('list', { isDefault: true })
    .description('List the keys; what is shown of each opens nothing')
    .action((_options: unknown, command: Command) =>
      run(command, async (session) => {
        const rows = await asOwner(session, ({ reelgate, headers }) => reelgate.account.tokens({ headers }));
        session.output.result(
          rows,
          rows.length === 0
            ? 'No keys. Make one with "reelgate tokens make NAME".'
            : toTable(
                ['ID', 'NAME', 'KEY', 'MADE', 'LAST USED', 'UNTIL', 'LIMIT', 'MODELS'],
                rows.map((row) => [
                  String(row.id),
                  row.name,
                  `${row.key_hint}…`,
                  toAge(row.created_time),
                  row.last_used_time === null ? 'never used' : toAge(row.last_used_time),
                  row.expires_at === null ? 'no end' : toTime(row.expires_at),
                  row.quota_limit === null ? 'none' : `${row.quota_used} of ${row.quota_limit}`,
                  row.models.length === 0 ? 'all' : row.models.join(', '),
                ]),
              ),
        );
      }),
    );

  tokens
    .command('make')
    .argument('<name>', 'what it is for')
    .option('--days <n>', 'how long it works; default: no end', days)
    .option('--quota <n>', 'the most it may spend, in quota', quota)
    .option('--model <id>', 'only this model; repeatable', collect, [])
    .description('Make a key; it is shown this once')
    .action((name: string, options: MakeOptions, command: Command) =>
      run(command, async (session) => {
        const wish = {
          name,
          ...(options.days === undefined ? {} : { expires_at: Math.floor(Date.now() / 1000) + options.days * 86_400 }),
          ...(options.quota === undefined ? {} : { quota_limit: options.quota }),
          models: [...options.model],
        };
        const made = await asOwner(session, ({ reelgate, headers }) => reelgate.account.makeToken(wish, { headers }));
        session.output.say(`Key ${made.id}. Keep it now: it is not shown again.`);
        session.output.result(made, made.key);
      }),
    );

  tokens
    .command('revoke')
    .argument('<id>', 'an id from the list', rowId)
    .description('End a key; it stops at once')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async (session) => {
        await asOwner(session, ({ reelgate, headers }) => reelgate.account.revokeToken(id, { headers }));
        session.output.result({ id, revoked: true }, `Revoked key ${id}.`);
      }),
    );
}
