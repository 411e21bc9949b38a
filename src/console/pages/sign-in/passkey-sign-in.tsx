import { Button, Divider } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { loginSecondStep } from '../../../contract/accounts.ts';
import type { Assertion } from '../../../contract/passkey-credentials.ts';
import { passkeyLogin } from '../../../contract/passkeys.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import {
  NoPasskeyError,
  offerPasskeys,
  signalUnknownPasskey,
  takePasskey,
  withdrawOffer,
} from '../../data/passkeys.ts';

/** The service accepts a challenge for five minutes; the offer is renewed before. */
const OFFER_MS = 4 * 60_000;

interface PasskeySignInProps {
  readonly onDone: (id: number) => Promise<void>;
}

/** Signs in with a passkey: by a button, and among the suggestions of the user name field. */
export function PasskeySignIn({ onDone }: PasskeySignInProps) {
  const { t } = useTranslation('passkeys');
  const signIn = usePasskeyMutation(
    async (credential) => (await callApi(passkeyLogin, { body: { credential } })).data.id,
    onDone,
  );
  const use = useRef(signIn.mutate);
  use.current = signIn.mutate;
  useEffect(() => {
    let isMounted = true;
    const offer = async (): Promise<void> => {
      const credential = await offerPasskeys();
      if (isMounted && credential !== undefined) use.current(credential);
    };
    const begin = (): void => void offer().catch(() => {});
    begin();
    const timer = setInterval(begin, OFFER_MS);
    return () => {
      isMounted = false;
      clearInterval(timer);
      void withdrawOffer();
    };
  }, []);
  return (
    <>
      <Divider />
      <PasskeyButton
        label={t('signIn')}
        error={signIn.error}
        busy={signIn.isPending}
        onClick={() => signIn.mutate(undefined)}
      />
    </>
  );
}

/** Finishes a login whose password was correct with a passkey. */
export function PasskeySecondStep({ onDone }: PasskeySignInProps) {
  const { t } = useTranslation('passkeys');
  const verify = usePasskeyMutation(
    async (credential) => (await callApi(loginSecondStep, { body: { credential } })).data.id,
    onDone,
  );
  return (
    <PasskeyButton
      label={t('signIn')}
      error={verify.error}
      busy={verify.isPending}
      onClick={() => verify.mutate(undefined)}
    />
  );
}

/** Sends a passkey that was chosen, or lets the user choose one. */
function usePasskeyMutation(send: (credential: Assertion) => Promise<number>, onDone: PasskeySignInProps['onDone']) {
  return useMutation({
    mutationFn: async (chosen: Assertion | undefined) => {
      const credential = chosen ?? (await takePasskey());
      try {
        return await send(credential);
      } catch (error) {
        await signalUnknownPasskey(error, credential);
        throw error;
      }
    },
    onSuccess: onDone,
  });
}

interface PasskeyButtonProps {
  readonly label: string;
  readonly error: unknown;
  readonly busy: boolean;
  readonly onClick: () => void;
}

function PasskeyButton({ label, error, busy, onClick }: PasskeyButtonProps) {
  const { t } = useTranslation('passkeys');
  return (
    <>
      <ErrorAlert error={error instanceof NoPasskeyError ? new Error(t('cancelled')) : error} />
      <Button variant="default" leftSection={<IconFingerprint size={18} />} loading={busy} onClick={onClick}>
        {label}
      </Button>
    </>
  );
}
