import type { ChildProcess } from 'node:child_process';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { ReelgateError } from '../../sdk/errors.ts';
import type { DeviceCode, DeviceTokens, Reelgate } from '../../sdk/index.ts';
import { parseRowId } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { notSignedInError } from '../credential-provider.ts';
import type { StoredCredentials } from '../credentials.ts';
import { formatPeriodAmount, formatSpendLimit, loadCreditFormat } from '../credit-format.ts';
import { UsageError } from '../errors.ts';
import {
  formatDateTime,
  formatDuration,
  formatKeyValues,
  formatTable,
  Output,
  phrase,
  type Rendering,
  relativeTime,
  styled,
  word,
} from '../output.ts';
import { canPrompt } from '../prompts.ts';
import type { RunCommand } from '../run-command.ts';

interface LoginOptions {
  readonly browser: boolean;
  readonly qr: boolean;
  readonly renew?: boolean;
  readonly force?: boolean;
  readonly name: string;
}

/** `reelgate login` */
export function addLoginCommand(program: Command, run: RunCommand): void {
  program
    .command('login')
    .description('Sign in: shows a link and a code to confirm in any browser')
    .option('--no-browser', 'do not open a browser')
    .option('--no-qr', 'do not draw the QR code')
    .option('--name <name>', 'how this machine is shown to you when you confirm', machineName())
    .option('--renew', 'get a new code automatically whenever one expires')
    .option('--force', 'sign in without a terminal, or in CI')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate login --url https://reelgate.example.com
  $ reelgate login --no-browser      # on a server, by ssh: confirm on your phone or laptop

In CI create an API key in the console and set REELGATE_URL and REELGATE_API_KEY instead.`,
    )
    .action((options: LoginOptions, command: Command) =>
      run(command, async (context) => {
        requireInteractive(context, options);
        const signIn = await signInWithCode(context, options);
        await storeCredentials(context, signIn);
      }),
    );
}

function requireInteractive({ output }: CommandContext, { force }: LoginOptions): void {
  const isCi = isSet(process.env.CI);
  const isWatched = output.isInteractive && !isCi;
  if (isWatched || force === true) return;
  const place = isCi
    ? 'This looks like CI (the variable CI is set), so the sign-in could not be confirmed.'
    : 'There is no terminal to show the code on, so the sign-in could not be confirmed.';
  throw new UsageError(`${place} ${NO_SIGN_IN}`);
}

/** Whether a variable turns something on: `CI=false` is how people turn it off. */
const isSet = (value = ''): boolean => !/^(?:|0|false)$/i.test(value);

const NO_SIGN_IN =
  'Create an API key in the console and set REELGATE_URL and REELGATE_API_KEY; no sign-in is needed then. If someone does see this output, add --force.';

async function signInWithCode(context: CommandContext, options: LoginOptions): Promise<StoredCredentials> {
  const { reelgate, credentialStore, output, organization, interruptSignal: signal } = context;
  const { getStatus } = await import('../../contract/service.ts');
  const { data: status } = await reelgate.transport.call(getStatus, {});
  const id = await credentialStore.runExclusive(() => credentialStore.deviceId());
  if (organization !== undefined) output.notice(`Choose ${organization} when you confirm.`);
  for (;;) {
    const code = await reelgate.deviceAuth.start({ name: options.name, id });
    await showCode(context, code, options);
    try {
      const tokens = await reelgate.deviceAuth.poll(code, {
        signal,
        onPollError: (error, waitMs) =>
          output.status(
            `${error.message} Trying again in ${formatDuration(Math.round(waitMs / 1000))} …`,
            error.message,
          ),
      });
      output.clearStatus();
      return toStoredCredentials(tokens, status.api_user_header);
    } catch (error) {
      output.clearStatus();
      if (signal.aborted) output.notice('Cancelled. The code above is no longer valid.');
      if (!(error instanceof ReelgateError && error.code === 'expired_token')) throw explainDenial(error);
      if (options.renew !== true && !(await askForNewCode(context))) throw error;
    }
  }
}

async function showCode({ output }: CommandContext, code: DeviceCode, { browser, qr }: LoginOptions): Promise<void> {
  const link = code.verification_uri_complete;
  output.notice('');
  output.notice(`  Open   ${code.verification_uri}`);
  output.notice(`  Code   ${code.user_code}`);
  output.notice('');
  if (qr && output.isInteractive) {
    const { renderUnicodeCompact } = await import('uqr');
    const drawing = renderUnicodeCompact(link, { border: 2 }).replace(/^/gm, '  ');
    // No camera reads one whose lines are wrapped.
    if (drawing.indexOf('\n') <= output.columns) output.notice(`${drawing}\n`);
  }
  output.notice(
    `Confirm there within ${formatDuration(code.expires_in)}, and only if it shows this code. Ctrl-C cancels.`,
  );
  if (browser && output.isInteractive && hasBrowser()) {
    output.notice('A browser opens; if it does not, use the link.');
    await openBrowser(link);
  }
  output.status('Waiting for you to confirm …', '');
}

/** Offers to request a new code if there is a terminal. */
async function askForNewCode({ interruptSignal: signal }: CommandContext): Promise<boolean> {
  if (!canPrompt()) return false;
  // `terminal: false` keeps Ctrl-C raising SIGINT.
  const { createInterface } = await import('node:readline/promises');
  const prompt = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  try {
    const question = 'The code has expired. Press Enter for a new one, Ctrl-C to stop.';
    await prompt.question(`${Output.translation.message(question)} `, { signal });
    return true;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    prompt.close();
  }
}

/** Replaces the service's general message with one that fits this command. */
function explainDenial(error: unknown): unknown {
  if (!(error instanceof ReelgateError) || error.code !== 'access_denied') return error;
  return new ReelgateError('The sign-in was denied in the browser.', {
    code: error.code,
    status: error.status,
  });
}

function toStoredCredentials(tokens: DeviceTokens, userHeader: string): StoredCredentials {
  return {
    userId: tokens.user_id,
    username: tokens.username,
    displayName: tokens.display_name,
    userHeader,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    llmToken: tokens.llm_token,
    accessExpiresAt: Date.now() + tokens.expires_in * 1000,
  };
}

/** A sign-in for another context than --org names is ended, so that nothing is charged to the wrong one. */
async function assertContext(reelgate: Reelgate, signIn: StoredCredentials, organization: string): Promise<void> {
  const { accessToken, userId, userHeader } = signIn;
  const headers = { authorization: `Bearer ${accessToken}`, [userHeader]: String(userId) };
  const { getOrganization } = await import('../../contract/organizations.ts');
  const isRight = await reelgate.transport
    .send(getOrganization, { params: { slug: organization } }, { headers })
    .then(({ ok }) => ok);
  if (isRight) return;
  await reelgate.deviceAuth.logout(accessToken).catch(() => {});
  throw new UsageError(`The sign-in was not confirmed for ${organization}. Run the command again and choose it.`);
}

/** Stores the sign-in, ends the previous one, and prints the location of the tokens. */
async function storeCredentials(
  { reelgate, credentialStore, output, baseUrl, organization, signInKey }: CommandContext,
  signIn: StoredCredentials,
): Promise<void> {
  if (organization !== undefined) await assertContext(reelgate, signIn, organization);
  const { place, old } = await credentialStore.runExclusive(async () => {
    const old = await credentialStore.read(signInKey).catch(() => undefined);
    return { place: await credentialStore.write(signInKey, signIn, 'best'), old };
  });
  // The service replaces the previous sign-in of the same account; one of another account would silently stay valid.
  if (old !== undefined && old.userId !== signIn.userId)
    await reelgate.deviceAuth.logout(old.accessToken).catch(() => {
      output.info(`The sign-in of ${old.username} could not be ended; end it in the console under Devices.`);
    });
  const { userId, username, displayName } = signIn;
  output.info(`The tokens are in ${place}.`);
  output.info(`End this sign-in with "reelgate logout", or from anywhere at ${baseUrl}/account/devices.`);
  if (process.env.REELGATE_API_KEY)
    output.info('REELGATE_API_KEY is set and is still used for videos and models; unset it to use this sign-in.');
  output.result(
    { signed_in: true, url: baseUrl, user_id: userId, username, display_name: displayName, tokens_in: place },
    `Signed in to ${baseUrl} as ${formatAccountName(displayName, username)}.`,
  );
}

/** `Ada (ada)`, or only the user name without a display name. */
const formatAccountName = (displayName: string, username: string): string =>
  displayName === '' || displayName === username ? username : `${displayName} (${username})`;

interface LogoutOptions {
  readonly everywhere?: boolean;
  readonly local?: boolean;
}

/** `reelgate logout` */
export function addLogoutCommand(program: Command, run: RunCommand): void {
  program
    .command('logout')
    .description('End the sign-in of this machine; its tokens are revoked at once')
    .option('--everywhere', "end the account's sign-ins on all other devices too")
    .option('--local', 'only delete the tokens here, when the service cannot be reached')
    .addHelpText('after', '\nExamples:\n  $ reelgate logout\n  $ reelgate logout --everywhere')
    .action((options: LogoutOptions, command: Command) =>
      run(command, async (context) => {
        const { output, baseUrl } = context;
        const others = options.everywhere === true ? await endOtherSignIns(context) : 0;
        const known = await endThisSignIn(context, options);
        const text = known ? `Signed out of ${baseUrl}.` : `You were not signed in to ${baseUrl}.`;
        const more = options.everywhere === true ? ` Other sign-ins ended: ${others}.` : '';
        output.result({ signed_out: known, url: baseUrl, others_ended: others }, text + more);
        if (process.env.REELGATE_API_KEY) output.info('REELGATE_API_KEY is still set and still works.');
      }),
    );
}

async function endOtherSignIns({ reelgate }: CommandContext): Promise<number> {
  const others = (await reelgate.account.devices()).filter(({ current }) => !current);
  for (const { id } of others) await reelgate.account.endDevice(id);
  return others.length;
}

/**
 * Ends the stored sign-in. @returns whether there was one. Exclusive: tokens refreshed by another process meanwhile
 * would stay valid.
 */
function endThisSignIn(
  { reelgate, credentialStore, output, signInKey }: CommandContext,
  { local }: LogoutOptions,
): Promise<boolean> {
  return credentialStore.runExclusive(async () => {
    const known = await credentialStore.has(signInKey);
    const signIn = local === true ? undefined : await credentialStore.read(signInKey);
    if (signIn !== undefined)
      await reelgate.deviceAuth.logout(signIn.accessToken).catch((error: unknown) => {
        if (!(error instanceof ReelgateError) || error.isTransient || error.status >= 500) throw withAdvice(error);
        output.info('The service had already ended this sign-in.');
      });
    await credentialStore.remove(signInKey, { tokensRevoked: local !== true });
    return known;
  });
}

function withAdvice(error: unknown): unknown {
  if (!(error instanceof ReelgateError)) return error;
  const { code, status, requestId } = error;
  const message = `${error.message} You are still signed in. Try again, or only delete the tokens here with --local.`;
  return new ReelgateError(message, { code, status, requestId, cause: error });
}

/** `reelgate whoami` */
export function addWhoamiCommand(program: Command, run: RunCommand): void {
  program
    .command('whoami')
    .description('Show the account, its balance and how you are signed in')
    .action((_options: unknown, command: Command) =>
      run(command, async (context) => {
        const { credentialStore, signInKey } = context;
        const { REELGATE_ACCESS_TOKEN, REELGATE_API_KEY } = process.env;
        const signIn = await credentialStore.read(signInKey);
        if (REELGATE_ACCESS_TOKEN || signIn !== undefined)
          return printAccount(context, REELGATE_ACCESS_TOKEN ? 'REELGATE_ACCESS_TOKEN' : 'device sign-in');
        if (REELGATE_API_KEY) return printApiKey(context);
        await loadCreditFormat(context.reelgate);
        throw notSignedInError(context, 'account');
      }),
    );
}

async function printAccount({ reelgate, output, baseUrl }: CommandContext, by: string): Promise<void> {
  const self = await reelgate.account.self();
  const credits = await loadCreditFormat(reelgate);
  const expires = self.package_expires_at;
  const code = self.current_package_code;
  output.result(
    { url: baseUrl, signed_in_by: by, ...self },
    formatKeyValues({
      Account: formatAccountName(self.display_name, self.username),
      'E-mail': self.email,
      Role: word(self.role),
      Balance: credits(self.quota),
      Used: formatUse(credits(self.used_quota), self.request_count),
      'Spend limit': self.spend_limit === null ? undefined : formatSpendLimit(self.spend_limit, credits),
      Plan: code === '' || expires === 0 ? word(code) : phrase`${code}, until ${formatDateTime(expires)}`,
      'Two-step': self.has_2fa ? styled('good', word('on')) : styled('warning', word('off')),
      Service: baseUrl,
      'Signed in': process.env.REELGATE_API_KEY
        ? phrase`${word(by)}; REELGATE_API_KEY for videos and models`
        : word(by),
    }),
  );
}

const formatUse = (amount: string, requests: number): Rendering =>
  requests === 1 ? phrase`${amount} in 1 request` : phrase`${amount} in ${requests.toLocaleString('en')} requests`;

/** Tests the API key, because a key does not reveal its owner. */
async function printApiKey({ reelgate, output, baseUrl }: CommandContext): Promise<void> {
  const { listModels } = await import('../../contract/models.ts');
  const { data } = await reelgate.transport.call(listModels, { query: {} });
  output.result(
    { url: baseUrl, signed_in_by: 'REELGATE_API_KEY', models: data.length },
    formatKeyValues({
      Account: word('unknown: a key does not reveal it; use "reelgate login"'),
      Service: baseUrl,
      'Signed in': phrase`REELGATE_API_KEY (works; ${data.length} models)`,
    }),
  );
}

/** Name of this machine, shown to the user who confirms a sign-in. */
const machineName = (): string => `Reelgate CLI on ${hostname()}`;

const openWithDesktop = async (url: string): Promise<ChildProcess> => (await import('open')).default(url);

/** Whether the user can see a browser opened on this machine: not over SSH, and not without a display. */
function hasBrowser(): boolean {
  const { env, platform } = process;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/**
 * Tries to open a page. Success cannot be detected, so the caller always prints the link too. Only http and https are
 * opened: the URL comes from the service, and for files or other schemes the desktop would start a program.
 *
 * @param start replaced by tests
 */
export async function openBrowser(
  url: string,
  start: (url: string) => Promise<Pick<ChildProcess, 'on'>> = openWithDesktop,
): Promise<void> {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:') return;
  const child = await start(url).catch(() => undefined);
  child?.on('error', () => {});
}

/** `reelgate devices …` */
export function addDeviceCommands(program: Command, run: RunCommand): void {
  const devices = program
    .command('devices')
    .description('Devices and applications with access to the account; end one')
    .addHelpText('after', '\nExamples:\n  $ reelgate devices\n  $ reelgate devices end 12');

  devices
    .command('list', { isDefault: true })
    .description('List the sign-ins, newest first')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const rows = await reelgate.account.devices();
        const hasLimits = rows.some(({ spend_limit: limit }) => limit !== null);
        const format = hasLimits ? await loadCreditFormat(reelgate) : String;
        const table = formatTable(
          ['ID', 'NAME', 'APP', 'SCOPES', 'LIMIT', 'ENDS', 'SIGNED IN', 'LAST USED', 'FROM', ''],
          rows.map((row) => [
            String(row.id),
            row.name === '' ? word('(no name)') : row.name,
            row.client,
            row.scopes.join(' '),
            row.spend_limit === null ? '' : formatPeriodAmount(format(row.spend_limit.amount), row.spend_limit.period),
            row.expires_at === null ? '' : relativeTime(row.expires_at),
            relativeTime(row.created_time),
            relativeTime(row.last_used_time),
            row.last_used_address === '' ? row.address : row.last_used_address,
            row.current ? styled('good', word('this one')) : '',
          ]),
        );
        output.list(rows, table, 'No device is signed in.');
      }),
    );

  devices
    .command('end')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('End a sign-in; its tokens are revoked at once')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.account.endDevice(id);
        output.result({ id, ended: true }, `Ended sign-in ${id}.`);
      }),
    );
}
