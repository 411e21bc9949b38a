import type { OutboundClient } from '../../platform/outbound/outbound.ts';
import { BackendError } from '../mail-backend.ts';

export interface DoveadmSettings {
  /** `http://127.0.0.1:18081`: the listener of Dovecot's `service doveadm`, on loopback or behind TLS. */
  readonly url: string;
  /** `doveadm_api_key`. */
  readonly apiKey: string;
}

/** "There is nothing of that kind" of doveadm (EX_NOHOST): nobody to kick, no such user. */
export const DOVEADM_NOT_FOUND = 68;

/**
 * One command over Dovecot's HTTP API (doc "Doveadm HTTP API"): an array of `[command, parameters, tag]` in, an array of
 * `["doveadmResponse", …]` or `["error", {exitCode}]` out, HTTP 200 either way.
 *
 * @returns the exit code, 0 for success
 */
export async function runDoveadm(
  outbound: OutboundClient,
  settings: DoveadmSettings,
  command: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<number> {
  const answer = await outbound
    .requestJson({
      method: 'POST',
      url: `${settings.url.replace(/\/$/, '')}/doveadm/v1`,
      headers: {
        authorization: `X-Dovecot-API ${Buffer.from(settings.apiKey).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify([[command, parameters, 'reelgate']]),
      private: true,
      connectTimeoutMs: 2_000,
      totalTimeoutMs: 5_000,
    })
    .catch((cause: unknown) => {
      throw new BackendError('unavailable', `doveadm ${command}: no answer`, { cause });
    });
  if (answer.status !== 200) throw new BackendError('rejected', `doveadm ${command}: HTTP ${answer.status}`);
  return readExitCode(answer.json, command);
}

function readExitCode(json: unknown, command: string): number {
  const [kind, payload] = Array.isArray(json) && Array.isArray(json[0]) ? (json[0] as unknown[]) : [];
  if (kind === 'doveadmResponse') return 0;
  const exitCode = (payload as { exitCode?: unknown } | undefined)?.exitCode;
  if (kind === 'error' && typeof exitCode === 'number') return exitCode;
  throw new BackendError('rejected', `doveadm ${command}: unreadable answer`);
}
