import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CatalogStore } from '../channels/directory.ts';
import { SmtpSender } from '../mail/mail-queue.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { assertMasterKey, findMasterKey, previousKeysOf } from '../platform/master-key.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Tables } from '../tables.ts';
import { directUrlOf, withDatabase } from './service-database.ts';

/** The result of one check. */
export interface Diagnosis {
  readonly subject: 'configuration' | 'database' | 'master key' | 'vendors' | 'mail' | 'proxy';
  readonly state: 'ok' | 'warning' | 'error';
  readonly message: string;
  /** How to fix a fault; absent if nothing has to be done. */
  readonly advice?: string;
}

const PROBE_TIMEOUT_MS = 5_000;
const MAX_PROBES = 20;

/**
 * Checks the service's settings, database and key, the vendors of its channels, its mail server, and whether BASE_URL
 * leads to the service. Changes nothing, and advises on each fault.
 */
export async function runDoctor(): Promise<readonly Diagnosis[]> {
  const found: Diagnosis[] = [];
  let config: Config;
  try {
    const loaded = loadConfig();
    config = loaded.config;
    found.push(...describeConfiguration(config, loaded.hints));
  } catch (error) {
    const advice = 'Correct this setting in the environment or in .env; docs/config.md lists all of them.';
    return [{ subject: 'configuration', state: 'error', message: messageOf(error), advice }];
  }
  const outbound = openOutbound();
  try {
    found.push(
      ...(await examineDatabase(config, outbound)),
      await examineMail(config),
      ...(await examineProxy(config, outbound)),
    );
  } finally {
    await outbound.close();
  }
  return found;
}

function describeConfiguration(config: Config, hints: readonly string[]): Diagnosis[] {
  const isLocal = /^https?:\/\/(localhost|127\.|\[::1\])/.test(config.baseUrl);
  const found: Diagnosis[] = hints.map((message) => ({ subject: 'configuration', state: 'warning', message }));
  if (isLocal)
    found.push({
      subject: 'configuration',
      state: 'warning',
      message: `BASE_URL is ${config.baseUrl}, which only this machine can open.`,
      advice: 'Set BASE_URL to the address people use, such as https://reelgate.example.com.',
    });
  if (config.sandbox)
    found.push({
      subject: 'configuration',
      state: 'warning',
      message: 'SANDBOX=1: simulated vendors are on.',
      advice: 'Leave SANDBOX out where customers pay.',
    });
  return found.length > 0 ? found : [{ subject: 'configuration', state: 'ok', message: 'All settings are valid.' }];
}

async function examineDatabase(config: Config, outbound: OutboundClient): Promise<Diagnosis[]> {
  const { databaseUrl } = config;
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  if (path !== undefined && !existsSync(path))
    return [
      {
        subject: 'database',
        state: 'error',
        message: `There is no database at ${path}.`,
        advice: existsSync(join(dirname(path), 'quickstart.db'))
          ? 'Set DATABASE_URL=sqlite:./data/quickstart.db to check the quickstart of this folder.'
          : 'Run this in the folder of the service, or set DATABASE_URL. The first start of the service creates it.',
      },
    ];
  try {
    return await withDatabase(directUrlOf(config), async (database) => {
      const channels = await new CatalogStore(database).channels();
      const kind = path === undefined ? 'PostgreSQL' : `SQLite at ${path}`;
      return [
        { subject: 'database', state: 'ok', message: `${kind} responds and has the schema of the service.` },
        await examineMasterKey(database, config, path),
        ...(await examineVendors(channels, outbound)),
      ];
    });
  } catch (error) {
    const advice =
      'Check DATABASE_URL and that the database runs; start the service once to bring its schema up to date.';
    return [{ subject: 'database', state: 'error', message: messageOf(error), advice }];
  }
}

async function examineMasterKey(
  database: Database<Tables>,
  config: Config,
  path: string | undefined,
): Promise<Diagnosis> {
  try {
    await assertMasterKey(database, findMasterKey(config, path).key, previousKeysOf(config));
    return { subject: 'master key', state: 'ok', message: 'It is the key this database was written with.' };
  } catch (error) {
    const advice =
      'Restore MASTER_KEY (or the file master.key) from the backup: without it no stored secret can be read.';
    return { subject: 'master key', state: 'error', message: messageOf(error), advice };
  }
}

type ChannelRow = Awaited<ReturnType<CatalogStore['channels']>>[number];

async function examineVendors(channels: readonly ChannelRow[], outbound: OutboundClient): Promise<Diagnosis[]> {
  const enabled = channels.filter((channel) => channel.enabled === 1);
  if (enabled.length === 0)
    return [
      {
        subject: 'vendors',
        state: 'warning',
        message: 'No channel is enabled, so no model can be called.',
        advice: 'Add one in the console under Administration, Channels.',
      },
    ];
  // A channel with its own proxy cannot be reached from here; its test in the console uses the proxy.
  const direct = enabled.filter(({ connection }) => connection === null).slice(0, MAX_PROBES);
  return Promise.all(
    direct.map(async ({ name, base_url: url }): Promise<Diagnosis> => {
      const problem = await probe(outbound, url);
      return problem === undefined
        ? { subject: 'vendors', state: 'ok', message: `${name}: ${url} responds.` }
        : {
            subject: 'vendors',
            state: 'error',
            message: `${name}: ${url} cannot be reached: ${problem}.`,
            advice: "Check the channel's base URL, and that the firewall lets this machine reach it.",
          };
    }),
  );
}

async function examineMail({ smtpUrl, smtpFrom, baseUrl }: Config): Promise<Diagnosis> {
  if (smtpUrl === undefined)
    return {
      subject: 'mail',
      state: 'warning',
      message: 'SMTP_URL is not set, so no e-mail is sent.',
      advice: 'Set SMTP_URL and SMTP_FROM, so that people can confirm their e-mail and reset their password.',
    };
  const sender = new SmtpSender({ url: smtpUrl, from: smtpFrom ?? '', baseUrl });
  try {
    await sender.verify();
    return { subject: 'mail', state: 'ok', message: 'The mail server accepts the connection and the sign-in.' };
  } catch (error) {
    const advice = 'Check host, port, user and password in SMTP_URL; smtps:// is for port 465, smtp:// for 587.';
    return { subject: 'mail', state: 'error', message: messageOf(error), advice };
  } finally {
    sender.close();
  }
}

/** Checks whether the public address leads to a ready service, and whether the proxy in front of it is trusted. */
async function examineProxy(config: Config, outbound: OutboundClient): Promise<Diagnosis[]> {
  const found = [await examineBaseUrl(config, outbound)];
  // The service itself speaks plain HTTP, so a proxy in front of it must terminate TLS.
  if (config.baseUrl.startsWith('https:') && config.trustProxy.length === 0)
    found.push({
      subject: 'proxy',
      state: 'warning',
      message: 'BASE_URL is https, so there is a proxy, and TRUST_PROXY does not name it.',
      advice:
        'Set TRUST_PROXY to the IP address of the proxy: otherwise all callers count as one address, share its rate limits, and the audit log records only that one.',
    });
  return found;
}

async function examineBaseUrl({ baseUrl }: Config, outbound: OutboundClient): Promise<Diagnosis> {
  const url = `${baseUrl}/readyz`;
  const problem = await probe(outbound, url, (status) => (status === 200 ? undefined : `HTTP ${status}`));
  if (problem === undefined)
    return { subject: 'proxy', state: 'ok', message: `${baseUrl} leads to a service that is ready.` };
  return {
    subject: 'proxy',
    state: 'error',
    message: `${url} does not respond as expected: ${problem}.`,
    advice: 'Start the service; if it runs, check that the proxy of BASE_URL passes every path to it (docs/deploy.md).',
  };
}

/** Why an address does not respond; any response counts unless `judge` says otherwise. */
async function probe(
  outbound: OutboundClient,
  url: string,
  judge: (status: number) => string | undefined = () => undefined,
): Promise<string | undefined> {
  try {
    const request = { method: 'GET', url, private: true, totalTimeoutMs: PROBE_TIMEOUT_MS } as const;
    return judge((await outbound.requestJson(request)).status);
  } catch (error) {
    return messageOf(error);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
