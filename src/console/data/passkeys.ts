import type { Assertion, NewCredential } from '../../contract/passkey-credentials.ts';
import {
  type CreationOptions,
  listPasskeys,
  type Passkey,
  passkeyLoginOptions,
  type RequestOptions,
} from '../../contract/passkeys.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { callApi } from './api-client.ts';

/** WebAuthn needs a browser library that most visits never use. */
const loadLibrary = () => import('@simplewebauthn/browser');

/** Passkeys of the signed-in account. */
export const passkeysQuery = {
  queryKey: ['passkeys'],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => (await callApi(listPasskeys, {}, { signal })).data,
};

/** The browser created or used no passkey: the user cancelled, or has none here. */
export class NoPasskeyError extends Error {}

/** Lets the browser create a passkey. @throws NoPasskeyError */
export async function createPasskey(options: CreationOptions): Promise<NewCredential> {
  const { startRegistration } = await loadLibrary();
  type OptionsJson = Parameters<typeof startRegistration>[0]['optionsJSON'];
  return orNoPasskey(() => startRegistration({ optionsJSON: options as OptionsJson }) as Promise<NewCredential>);
}

/** Lets the browser use a passkey. @throws NoPasskeyError, ReelgateError */
export async function takePasskey(): Promise<Assertion> {
  const { data } = await callApi(passkeyLoginOptions, {});
  return getCredential(data, false);
}

/**
 * Offers passkeys among the suggestions of the user name field; resolves when one was chosen.
 *
 * @param isWanted asked once the offer is ready: it would close a passkey dialog that is open by then
 * @returns undefined if the browser cannot do this, or another passkey dialog replaced the offer
 */
export async function offerPasskeys(isWanted: () => boolean): Promise<Assertion | undefined> {
  const { browserSupportsWebAuthnAutofill } = await loadLibrary();
  if (!(await browserSupportsWebAuthnAutofill())) return undefined;
  const { data } = await callApi(passkeyLoginOptions, {});
  return isWanted() ? getCredential(data, true).catch(() => undefined) : undefined;
}

/** Withdraws the offer of `offerPasskeys`. */
export async function withdrawOffer(): Promise<void> {
  const { WebAuthnAbortService } = await loadLibrary();
  WebAuthnAbortService.cancelCeremony();
}

async function getCredential(options: RequestOptions, isOffer: boolean): Promise<Assertion> {
  const { startAuthentication } = await loadLibrary();
  type OptionsJson = Parameters<typeof startAuthentication>[0]['optionsJSON'];
  const given = { optionsJSON: options as OptionsJson, useBrowserAutofill: isOffer };
  return orNoPasskey(() => startAuthentication(given) as Promise<Assertion>);
}

async function orNoPasskey<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw new NoPasskeyError('no passkey', { cause: error });
  }
}

/** Tells the browser that the service does not know a passkey, so that it is no longer offered. */
export async function signalUnknownPasskey(error: unknown, credential: Assertion): Promise<void> {
  if (!(error instanceof ReelgateError) || error.code !== 'wrong_passkey') return;
  const { sendSignal } = await loadLibrary();
  const rpID = location.hostname;
  await sendSignal({ signalName: 'unknownCredential', rpID, credentialID: credential.id }).catch(() => {});
}

/**
 * Tells the browser which passkeys of the account are left and how the account is called now.
 *
 * @param known passkeys before the change, of which at least one names the account
 */
export async function signalPasskeys(
  known: readonly Passkey[],
  left: readonly Passkey[],
  account: { readonly username: string; readonly display_name: string },
): Promise<void> {
  const [first] = known.filter((passkey) => passkey.usable);
  if (first === undefined) return;
  const { sendSignal } = await loadLibrary();
  const owner = { rpID: first.rp_id, userID: first.user_handle };
  const ids = left.filter((passkey) => passkey.usable).map((passkey) => passkey.credential_id);
  // Browsers without the Signal API throw.
  await sendSignal({ signalName: 'allAcceptedCredentials', ...owner, allAcceptedCredentialIDs: ids }).catch(() => {});
  await sendSignal({
    signalName: 'currentUserDetails',
    ...owner,
    userName: account.username,
    userDisplayName: account.display_name,
  }).catch(() => {});
}
