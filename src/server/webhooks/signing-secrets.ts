import { randomBytes } from 'node:crypto';
import { DAY_MS } from '../../contract/time-units.ts';
import { formatWebhookSecret } from '../../contract/webhook-signing-and-secrets.ts';
import type { SealContext, Vault } from '../platform/vault.ts';
import type { SecretColumns } from './endpoint-store.ts';

const KEY_BYTES = 32;
/** How long the secret before a rotation signs too. */
export const ROTATION_MS = DAY_MS;

export const newWebhookSecret = (): string => formatWebhookSecret(randomBytes(KEY_BYTES));

/** The secrets that sign now, in clear, the present one first. @throws UnsealError */
export function openSecrets(vault: Vault, cell: SealContext, columns: SecretColumns, now: number): string[] {
  const { secret, previous_secret: previous, previous_until: until } = columns;
  const sealed = previous !== null && until > now ? [secret, previous] : [secret];
  return sealed.map((each) => vault.open(each, cell));
}

/** The columns after a rotation. */
export const rotate = (
  vault: Vault,
  cell: SealContext,
  old: SecretColumns,
  next: string,
  now: number,
): SecretColumns => ({
  secret: vault.seal(next, cell),
  previous_secret: old.secret,
  previous_until: now + ROTATION_MS,
});
