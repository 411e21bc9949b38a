import { type Command, InvalidArgumentError } from 'commander';
import { toSeconds } from '../../contract/time-units.ts';
import type { EventType, WebhookPreset } from '../../contract/webhooks.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import type { DeliveryInfo, EventInfo, Reelgate, WebhookInfo } from '../../sdk/index.ts';
import { parsePositiveInteger, parseRowId, repeatableOption } from '../argument-parsers.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../errors.ts';
import { formatTable, joinTexts, phrase, type Rendering, relativeTime, styled, type Text, word } from '../output.ts';
import { reauthenticate } from '../reauthenticate.ts';
import type { RunCommand } from '../run-command.ts';

interface CreateOptions {
  readonly event: readonly string[];
  readonly description?: string;
  readonly preset?: string;
}

/** `reelgate webhooks …` */
export function addWebhookCommands(program: Command, run: RunCommand): void {
  const webhooks = program
    .command('webhooks')
    .description('URLs that receive events; asks for your password')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate webhooks create https://example.com/hook --event video.completed --event video.failed
  $ reelgate webhooks test 3
  $ reelgate webhooks deliveries 3 --failed
  $ reelgate webhooks replay 3 --hours 6`,
    );
  addEndpointCommands(webhooks, run);
  addDeliveryCommands(webhooks, run);
}

function addEndpointCommands(webhooks: Command, run: RunCommand): void {
  webhooks
    .command('list', { isDefault: true })
    .description('List the webhooks')
    .action((_options: unknown, command: Command) =>
      run(command, async (context) => {
        const rows = await reauthenticate(context, ({ reelgate, headers }) => reelgate.webhooks.list({ headers }));
        const none = 'No webhooks. Add one with "reelgate webhooks create URL".';
        context.output.list(rows, formatWebhooks(rows), none);
      }),
    );
  webhooks
    .command('create')
    .argument('<url>', 'https, a public address')
    .addOption(repeatableOption('--event <type>', 'only this type of event; repeatable', 'all'))
    .option('--description <text>', 'what it is for')
    .option('--preset <name>', 'standard, slack, lark, dingtalk, discord, telegram, bark or gotify')
    .description('Add a webhook; its signing secret is shown only now')
    .action((url: string, { event, description, preset }: CreateOptions, command: Command) =>
      run(command, async (context) => {
        // Types and presets are validated by the service.
        const request = {
          url,
          description,
          preset: preset as WebhookPreset | undefined,
          events: event as EventType[],
        };
        const made = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.create(request, { headers }),
        );
        context.output.info(`Webhook ${made.id}. Store its signing secret now: it is not shown again.`);
        context.output.result(made, made.secret);
      }),
    );
  webhooks
    .command('remove')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Remove a webhook and its deliveries')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async (context) => {
        await reauthenticate(context, ({ reelgate, headers }) => reelgate.webhooks.delete(id, { headers }));
        context.output.result({ id, removed: true }, `Removed webhook ${id}.`);
      }),
    );
  webhooks
    .command('enable')
    .argument('<id>', 'an id from the list', parseRowId)
    .option('--off', 'disable it instead')
    .description('Enable a webhook again that was disabled')
    .action((id: number, { off }: { off?: boolean }, command: Command) =>
      run(command, async (context) => {
        const enabled = off !== true;
        await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.update(id, { enabled }, { headers }),
        );
        context.output.result({ id, enabled }, enabled ? `Webhook ${id} is enabled.` : `Webhook ${id} is disabled.`);
      }),
    );
  webhooks
    .command('rotate-secret')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Make a new signing secret; the old one signs beside it for 24 hours')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async (context) => {
        const secret = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.rotateSecret(id, { headers }),
        );
        context.output.result({ id, secret }, secret);
      }),
    );
}

function addDeliveryCommands(webhooks: Command, run: RunCommand): void {
  webhooks
    .command('test')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Deliver a test event')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async (context) => {
        const delivery = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.test(id, { headers }),
        );
        context.output.result({ delivery }, `Delivery ${delivery}: see "reelgate webhooks deliveries ${id}".`);
      }),
    );
  webhooks
    .command('deliveries')
    .argument('<id>', 'an id from the list', parseRowId)
    .option('--failed', 'only failed ones')
    .option('--limit <n>', 'how many, at most 100', parsePositiveInteger, 20)
    .description('List deliveries, newest first; with --json request and answer too')
    .action((id: number, { failed, limit }: { failed?: boolean; limit: number }, command: Command) =>
      run(command, async (context) => {
        const page = { limit, status: failed === true ? ('failed' as const) : undefined };
        const { deliveries } = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.deliveries(id, page, { headers }),
        );
        context.output.list(deliveries, formatDeliveries(deliveries), 'No deliveries.');
      }),
    );
  webhooks
    .command('retry')
    .argument('<id>', 'an id from the list', parseRowId)
    .argument('<delivery>', 'an id from the deliveries', parseRowId)
    .description('Deliver one event again, now')
    .action((id: number, delivery: number, _options: unknown, command: Command) =>
      run(command, async (context) => {
        await reauthenticate(context, ({ reelgate, headers }) => reelgate.webhooks.retry(id, delivery, { headers }));
        context.output.result({ delivery }, `Delivery ${delivery} is due now.`);
      }),
    );
  webhooks
    .command('replay')
    .argument('<id>', 'an id from the list', parseRowId)
    .requiredOption('--hours <n>', 'events of the last so many hours', parsePositiveInteger)
    .description('Deliver the events of a time once more, with the same ids')
    .action((id: number, { hours }: { hours: number }, command: Command) =>
      run(command, async (context) => {
        const since = toSeconds(Date.now()) - hours * 3_600;
        const queued = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.replay(id, { since }, { headers }),
        );
        context.output.result({ queued }, `${queued} events are being redelivered.`);
      }),
    );
  webhooks
    .command('secret')
    .description('Show the secret that signs deliveries to the callback_url of single requests')
    .action((_options: unknown, command: Command) =>
      run(command, async (context) => {
        const secret = await reauthenticate(context, ({ reelgate, headers }) =>
          reelgate.webhooks.callbackSecret({ headers }),
        );
        context.output.result({ secret }, secret);
      }),
    );
}

function describeState({ enabled, disabled_reason: reason, failing_since: since }: WebhookInfo): Text {
  if (!enabled)
    return styled('warning', reason === '' ? word('disabled') : joinTexts([word('disabled'), word(reason)], ' '));
  return since === null ? styled('good', word('works')) : styled('bad', phrase`fails since ${relativeTime(since)}`);
}

const formatWebhooks = (rows: readonly WebhookInfo[]): Rendering =>
  formatTable(
    ['ID', 'URL', 'EVENTS', 'STATE', 'WAITING', 'DESCRIPTION'],
    rows.map((row) => [
      String(row.id),
      row.url,
      row.events.length === 0 ? word('all') : row.events.join(', '),
      describeState(row),
      String(row.pending),
      row.description,
    ]),
  );

const formatDeliveries = (rows: readonly DeliveryInfo[]): Rendering =>
  formatTable(
    ['ID', 'WHEN', 'EVENT', 'STATE', 'ATTEMPTS', 'RESPONSE'],
    rows.map((row) => [
      String(row.id),
      relativeTime(row.created_time),
      row.event_type,
      word(row.status),
      String(row.tries),
      row.last_try === null ? '' : row.last_try.error || String(row.last_try.response_status),
    ]),
  );

interface ListenOptions {
  readonly forward: string;
  readonly secret?: string;
}

/** Imported when the command runs, because printing help does not need it. */
const importSignature = () => import('../../contract/webhooks.ts');

const POLL_MS = 2_000;
/**
 * Event queries overlap by this many seconds, because an earlier event may become visible after a later concurrent one.
 */
const OVERLAP_SECONDS = 60;
const TIMEOUT_MS = 15_000;

/** `reelgate listen` */
export function addListenCommand(program: Command, run: RunCommand): void {
  program
    .command('listen')
    .requiredOption('--forward <url>', 'where your program listens on this machine', parseHttpUrl)
    .option('--secret <whsec>', 'signs with this secret; default: a new one, which is shown')
    .description('Forward your events to a program on this machine while you write it')
    .addHelpText('after', '\nExample:\n  $ reelgate listen --forward http://127.0.0.1:4000/hook')
    .action((options: ListenOptions, command: Command) => run(command, (context) => listen(context, options)));
}

async function listen({ reelgate, output, interruptSignal }: CommandContext, options: ListenOptions): Promise<void> {
  const { formatWebhookSecret } = await importSignature();
  const { sleep } = await import('../../sdk/transport.ts');
  const secret = options.secret ?? formatWebhookSecret(crypto.getRandomValues(new Uint8Array(32)));
  const seen = new Set<string>();
  // By the service's clock, and only as far as events have been read: they may wait for minutes behind a program that
  // is being debugged, or while this machine sleeps.
  let since = (await readServiceTime(reelgate)) - OVERLAP_SECONDS;
  for (const { id } of await readEvents(reelgate, since)) seen.add(id);
  output.notice(`Forwarding events to ${options.forward}, signed with ${secret}. Ctrl-C ends it.`);
  while (!interruptSignal.aborted) {
    const events = await readEvents(reelgate, since).catch((error: unknown) => {
      if (interruptSignal.aborted) return [];
      if (!(error instanceof ReelgateError && (error.isTransient || error.status >= 500))) throw error;
      output.status(`${error.message} Trying again …`);
      return [];
    });
    for (const event of events) {
      if (seen.has(event.id) || interruptSignal.aborted) continue;
      seen.add(event.id);
      const answer = await forward(event, options.forward, secret, interruptSignal);
      output.result({ id: event.id, type: event.type, answer }, `${event.timestamp}  ${event.type}  ${answer}`);
    }
    const newest = events.at(-1);
    if (newest !== undefined) since = Math.max(since, toSeconds(Date.parse(newest.timestamp)) - OVERLAP_SECONDS);
    await sleep(POLL_MS, interruptSignal).catch(() => {});
  }
  // Ctrl-C is the normal way to stop listening, so no error is printed.
  process.exitCode = EXIT.interrupted;
}

/** Unix seconds, from the Date header; of this machine without one. */
async function readServiceTime(reelgate: Reelgate): Promise<number> {
  const { getStatus } = await import('../../contract/service.ts');
  const response = await reelgate.transport.send(getStatus, {});
  await response.body?.cancel();
  const date = Date.parse(response.headers.get('date') ?? '');
  return toSeconds(Number.isNaN(date) ? Date.now() : date);
}

async function readEvents(reelgate: Reelgate, since: number): Promise<EventInfo[]> {
  const found: EventInfo[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await reelgate.webhooks.events({ since, limit: 100, after });
    found.push(...page.events);
    if (page.next === null) return found;
    after = page.next;
  }
}

/** Sends an event exactly as the service delivers it. @returns the status, or the reason why there is none */
async function forward(
  { id, ...payload }: EventInfo,
  url: string,
  secret: string,
  interruptSignal: AbortSignal,
): Promise<string> {
  const body = JSON.stringify(payload);
  const { signWebhook } = await importSignature();
  const signature = await signWebhook([secret], { id, timestamp: toSeconds(Date.now()), body });
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...signature },
      redirect: 'manual',
      signal: AbortSignal.any([interruptSignal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    const { cause, message } = error as { readonly cause?: NodeJS.ErrnoException; readonly message: string };
    // A name with several addresses, such as localhost, fails with an error without a message.
    return cause?.message || cause?.code || message;
  }
}

function parseHttpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('Give a URL such as http://127.0.0.1:4000/hook.');
  return text;
}
