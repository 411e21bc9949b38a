import type { Command } from 'commander';
import { ReelgateError } from '../../sdk/errors.ts';
import type { CommandContext } from '../command-context.ts';
import { formatDateTime } from '../format-times-and-sizes.ts';
import { loadCreditFormat } from '../load-credit-format.ts';
import { formatKeyValues, styled } from '../render-output-text.ts';
import type { RunCommand } from '../run-command.ts';
import { formatAccountName } from './login.ts';

/** `reelgate whoami` */
export function addWhoamiCommand(program: Command, run: RunCommand): void {
  program
    .command('whoami')
    .description('Show the account, its balance and how you are signed in')
    .action((_options: unknown, command: Command) =>
      run(command, async (context) => {
        const { credentialStore, baseUrl } = context;
        const { REELGATE_ACCESS_TOKEN, REELGATE_API_KEY } = process.env;
        const signIn = await credentialStore.read(baseUrl);
        if (REELGATE_ACCESS_TOKEN || signIn !== undefined)
          return printAccount(context, REELGATE_ACCESS_TOKEN ? 'REELGATE_ACCESS_TOKEN' : 'device sign-in');
        if (REELGATE_API_KEY) return printApiKey(context);
        await loadCreditFormat(context.reelgate);
        throw new ReelgateError(`You are not signed in to ${baseUrl}.`, { code: 'unauthorized', status: 401 });
      }),
    );
}

async function printAccount({ reelgate, output, baseUrl }: CommandContext, by: string): Promise<void> {
  const self = await reelgate.account.self();
  const credits = await loadCreditFormat(reelgate);
  const expires = self.package_expires_at;
  const end = expires === 0 ? '' : `, until ${formatDateTime(expires)}`;
  output.result(
    { url: baseUrl, signed_in_by: by, ...self },
    formatKeyValues({
      Account: formatAccountName(self.display_name, self.username),
      'E-mail': self.email,
      Role: self.role,
      Balance: credits(self.quota),
      Used: `${credits(self.used_quota)} in ${self.request_count.toLocaleString('en')} request${self.request_count === 1 ? '' : 's'}`,
      Plan: self.current_package_code === '' ? undefined : `${self.current_package_code}${end}`,
      'Two-step': self.has_2fa ? styled('good', 'on') : styled('warning', 'off'),
      Service: baseUrl,
      'Signed in': process.env.REELGATE_API_KEY ? `${by}; REELGATE_API_KEY for videos and models` : by,
    }),
  );
}

/** A key does not reveal its owner, but can be tried. */
async function printApiKey({ reelgate, output, baseUrl }: CommandContext): Promise<void> {
  const { listModels } = await import('../../contract/models.ts');
  const { data } = await reelgate.transport.call(listModels, { query: {} });
  output.result(
    { url: baseUrl, signed_in_by: 'REELGATE_API_KEY', models: data.length },
    formatKeyValues({
      Account: 'unknown: a key does not reveal it; use "reelgate login"',
      Service: baseUrl,
      'Signed in': `REELGATE_API_KEY (works; ${data.length} models)`,
    }),
  );
}
