import { Alert, Badge, Button, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { disableTwoFactor, enableTwoFactor, setUpTwoFactor } from '../../../contract/accounts.ts';
import { CopyField, CopyIconButton } from '../../components/copy-button-and-field.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { QrCode } from '../../components/qr-code.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { selfQuery, useSelf } from '../../data/signed-in-user-and-site-queries.ts';

/** Off → secret and QR → code → backup codes, shown once; on → off again by a code. */
export function TwoStepSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const [codes, setCodes] = useState<readonly string[]>();
  const setUp = useMutation({ mutationFn: async () => (await callApi(setUpTwoFactor, {})).data });
  const on = self?.has_2fa === true;
  return (
    <SettingsSection
      title={t('security.twoStep')}
      subtitle={t('security.twoStepText')}
      aside={<Badge color={on ? 'teal' : 'gray'}>{on ? t('security.on') : t('security.off')}</Badge>}
    >
      <ErrorAlert error={setUp.error} />
      {codes !== undefined ? (
        <BackupCodes codes={codes} onKept={() => setCodes(undefined)} />
      ) : on ? (
        <DisableTwoStep />
      ) : setUp.data === undefined ? (
        <Stack align="flex-start" gap="sm">
          <Text size="sm">{t('security.setUpWarning')}</Text>
          <Button loading={setUp.isPending} onClick={() => setUp.mutate()}>
            {t('security.setUp')}
          </Button>
        </Stack>
      ) : (
        <EnableTwoStep {...setUp.data} onDone={setCodes} />
      )}
    </SettingsSection>
  );
}

interface EnableTwoStepProps {
  readonly secret: string;
  readonly otpauth_url: string;
  readonly onDone: (codes: readonly string[]) => void;
}

function EnableTwoStep({ secret, otpauth_url, onDone }: EnableTwoStepProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const enable = useMutation({
    mutationFn: async (code: string) => (await callApi(enableTwoFactor, { body: { code } })).data.backup_codes,
    onSuccess: async (codes) => {
      onDone(codes);
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Group align="flex-start" gap="xl">
      <QrCode text={otpauth_url} label={t('security.qr')} />
      <Stack flex={1} miw={240}>
        <Text size="sm">{t('security.scan')}</Text>
        <CopyField text={secret} />
        <CodeForm
          label={t('security.enterCode')}
          action={t('security.turnOn')}
          busy={enable.isPending}
          onCode={enable.mutate}
        />
        <ErrorAlert error={enable.error} />
      </Stack>
    </Group>
  );
}

function DisableTwoStep() {
  const { t } = useTranslation(['account', 'sign-in']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const disable = useMutation({
    mutationFn: (code: string) => callApi(disableTwoFactor, { body: { code } }),
    onSuccess: async () => {
      toasts.success(t('security.turnedOff'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack>
      <Text size="sm">{t('security.turnOffText')}</Text>
      <CodeForm
        label={t('sign-in:signIn.code')}
        action={t('security.turnOff')}
        busy={disable.isPending}
        onCode={disable.mutate}
      />
      <ErrorAlert error={disable.error} />
    </Stack>
  );
}

interface CodeFormProps {
  readonly label: string;
  readonly action: string;
  readonly busy: boolean;
  readonly onCode: (code: string) => void;
}

function CodeForm({ label, action, busy, onCode }: CodeFormProps) {
  const [code, setCode] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCode(code.trim());
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label={label}
          autoComplete="one-time-code"
          maxLength={64}
          required
          withAsterisk={false}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Button type="submit" loading={busy} disabled={code.trim() === ''}>
          {action}
        </Button>
      </Group>
    </form>
  );
}

function BackupCodes({ codes, onKept: onSaved }: { readonly codes: readonly string[]; readonly onKept: () => void }) {
  const { t } = useTranslation('account');
  const text = codes.join('\n');
  return (
    <Stack>
      <Alert color="yellow" title={t('security.backupTitle')}>
        {t('security.backupText')}
      </Alert>
      <SimpleGrid cols={{ base: 2, xs: 3 }} maw={420}>
        {codes.map((code) => (
          <Code key={code} fz="sm" ta="center" py={6}>
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group>
        <Button
          variant="default"
          component="a"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`}
          download="reelgate-backup-codes.txt"
        >
          {t('security.download')}
        </Button>
        <CopyIconButton text={text} />
        <Button onClick={onSaved}>{t('security.kept')}</Button>
      </Group>
    </Stack>
  );
}
