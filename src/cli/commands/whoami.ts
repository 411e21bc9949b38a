import type { Command } from 'commander';
import { getStatus } from '../../contract/service.ts';
import { listModels } from '../../contract/video.ts';
import { ReelgateError } from '../../sdk/index.ts';
import type { RunCommand } from '../run.ts';
import type { Session } from '../session.ts';
import { toFacts, toTime } from '../text.ts';
import { nameOf } from './login.ts';

/** `reelgate whoami` */
export function addWhoamiCommand(program: Command, run: RunCommand): void {
  program
    .command('whoami')
    .description('Show the account, its quota and how you are signed in')
    .action((_options: unknown, command: Command) =>
      run(command, async (session) => {
        const { credentials, baseUrl } = session;
        const { REELGATE_ACCESS_TOKEN, REELGATE_API_KEY } = process.env;
        const signIn = await credentials.read(baseUrl);
        if (REELGATE_ACCESS_TOKEN || signIn !== undefined)
          return tellAccount(session, REELGATE_ACCESS_TOKEN ? 'REELGATE_ACCESS_TOKEN' : 'device sign-in');
        if (REELGATE_API_KEY) return tellKey(session);
        throw new ReelgateError(`You are not signed in to ${baseUrl}.`, { code: 'unauthorized', status: 401 });
      }),
    );
}

async function tellAccount({ reelgate, output, baseUrl }: Session, by: string): Promise<void> {
  const self = await reelgate.account.self();
  const { data: status } = await reelgate.transport.call(getStatus, {});
  const units = (quota: number): string =>
    `${(quota / status.quota_per_unit).toLocaleString('en', { maximumFractionDigits: 4 })} (${quota.toLocaleString('en')} quota)`;
  const expires = self.package_expires_at;
  const end = expires === 0 ? '' : `, until ${toTime(expires)}`;
  output.result(
    { url: baseUrl, signed_in_by: by, ...self },
    toFacts({
      Account: nameOf(self.display_name, self.username),
      'E-mail': self.email,
      Role: self.role,
      Balance: units(self.quota),
      Used: `${units(self.used_quota)} in ${self.request_count.toLocaleString('en')} request${self.request_count === 1 ? '' : 's'}`,
      Package: self.current_package_code === '' ? undefined : `${self.current_package_code}${end}`,
      'Two-step': self.has_2fa ? 'on' : 'off',
      Service: baseUrl,
      'Signed in': process.env.REELGATE_API_KEY ? `${by}; REELGATE_API_KEY for videos and models` : by,
    }),
  );
}

/** A key says nothing of its owner, but can be tried. */
async function tellKey({ reelgate, output, baseUrl }: Session): Promise<void> {
  const { data } = await reelgate.transport.call(listModels, {});
  output.result(
    { url: baseUrl, signed_in_by: 'REELGATE_API_KEY', models: data.length },
    toFacts({
      Account: 'unknown: a key does not tell. "reelgate login" does.',
      Service: baseUrl,
      'Signed in': `REELGATE_API_KEY (works; opens ${data.length} models)`,
    }),
  );
}
