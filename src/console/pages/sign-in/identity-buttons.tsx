import { Button, Divider, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../contract/objects.ts';
import { useStatus } from '../../data/self.ts';
import { PasskeySignIn } from './passkey-sign-in.tsx';

/** Buttons of the identity providers. The browser returns to the sign-in page, which then finds its session. */
export function IdentityButtons({ back, isFirst }: { readonly back: string | undefined; readonly isFirst: boolean }) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const providers = status?.identity_providers ?? [];
  if (providers.length === 0) return null;
  const page = new URLSearchParams({ ...defined({ back }), signed_in: 'true' });
  const query = new URLSearchParams({ return_to: `/sign-in?${page}` });
  return (
    <Stack gap="sm">
      {isFirst ? null : <Divider label={t('signIn.or')} />}
      {providers.map(({ id, title }) => (
        <Button key={id} component="a" href={`/auth/${id}/start?${query}`} variant={isFirst ? 'filled' : 'default'}>
          {t('signIn.with', { title })}
        </Button>
      ))}
    </Stack>
  );
}

interface PasswordGateProps {
  readonly back: string | undefined;
  readonly onDone: (id: number) => Promise<void>;
  /** The password form. */
  readonly children: ReactNode;
}

/** Where passwords are switched off, shows the other ways in instead of the form, which then serves root alone. */
export function PasswordGate({ back, onDone, children }: PasswordGateProps) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const [isRoot, setIsRoot] = useState(false);
  if (status?.password_sign_in !== false) return children;
  return (
    <Stack>
      <IdentityButtons back={back} isFirst />
      {status.passkeys === 'on' ? <PasskeySignIn onDone={onDone} /> : null}
      {isRoot ? (
        children
      ) : (
        <Button variant="subtle" color="gray" onClick={() => setIsRoot(true)}>
          {t('signIn.asRoot')}
        </Button>
      )}
    </Stack>
  );
}
