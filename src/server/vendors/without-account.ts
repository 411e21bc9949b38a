import { asObject, type UntrustedObject } from '../../contract/objects.ts';

/** Members about the operator's account at a gateway, which callers must not see: stored responses are shown to them. */
const ACCOUNT_MEMBERS: ReadonlySet<string> = new Set(['user_id', 'username', 'group', 'channel_id', 'quota']);

/** Envelopes and tasks of several gateways, one behind another. */
const MAX_DEPTH = 8;

/** A response without the operator's account at any gateway on its way; the same object if it has nothing about it. */
export function withoutAccount(response: UntrustedObject, depth = 0): UntrustedObject {
  // Gateways keep the response of the next one, or the vendor's, in this member.
  const data = depth < MAX_DEPTH ? asObject(response.data) : undefined;
  const rest = data && withoutAccount(data, depth + 1);
  if (rest === data && !Object.keys(response).some((name) => ACCOUNT_MEMBERS.has(name))) return response;
  const kept = Object.entries(response).filter(([name]) => !ACCOUNT_MEMBERS.has(name));
  return { ...Object.fromEntries(kept), ...(rest !== data && { data: rest }) };
}
