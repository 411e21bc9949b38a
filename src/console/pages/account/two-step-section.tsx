import { Alert, Badge, Button, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { disableTwoFactor, enableTwoFactor, setUpTwoFactor } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { selfQuery, useSelf } from '../../data/queries.ts';
import { Copy, CopyField } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Qr } from '../../parts/qr.tsx';
import { Section } from '../../parts/section.tsx';

/** Off → secret and QR → code → backup codes, shown once; on → off again by a code. */
export function TwoStepSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const [codes, setCodes] = useState<readonly string[]>();
  const setUp = useMutation({ mutationFn: async () => (await call(setUpTwoFactor, {})).data });
  const on = self?.has_2fa === true;
  return (
    <Section
      title={t('security.twoStep')}
      lead={t('security.twoStepText')}
      aside={<Badge color={on ? 'teal' : 'gray'}>{on ? t('security.on') : t('security.off')}</Badge>}
    >
      <Failure error={setUp.error} />
      {codes !== undefined ? (
        <BackupCodes codes={codes} onKept={() => setCodes(undefined)} />
      ) : on ? (
        <TurnOff />
      ) : setUp.data === undefined ? (
        <Button loading={setUp.isPending} onClick={() => setUp.mutate()}>
          {t('security.setUp')}
        </Button>
      ) : (
        <TurnOn {...setUp.data} onDone={setCodes} />
      )}
    </Section>
  );
}

interface TurnOnProps {
  readonly secret: string;
  readonly otpauth_url: string;
  readonly onDone: (codes: readonly string[]) => void;
}

function TurnOn({ secret, otpauth_url, onDone }: TurnOnProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const enable = useMutation({
    mutationFn: async (code: string) => (await call(enableTwoFactor, { body: { code } })).data.backup_codes,
    onSuccess: async (codes) => {
      onDone(codes);
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Group align="flex-start" gap="xl">
      <Qr text={otpauth_url} label={t('security.qr')} />
      <Stack flex={1} miw={240}>
        <Text size="sm">{t('security.scan')}</Text>
        <CopyField text={secret} />
        <CodeForm
          label={t('security.enterCode')}
          action={t('security.turnOn')}
          busy={enable.isPending}
          onCode={enable.mutate}
        />
        <Failure error={enable.error} />
      </Stack>
    </Group>
  );
}

function TurnOff() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const notices = useNotices();
  const disable = useMutation({
    mutationFn: (code: string) => call(disableTwoFactor, { body: { code } }),
    onSuccess: async () => {
      notices.done(t('security.turnedOff'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack>
      <Text size="sm">{t('security.turnOffText')}</Text>
      <CodeForm
        label={t('signIn.code')}
        action={t('security.turnOff')}
        busy={disable.isPending}
        onCode={disable.mutate}
      />
      <Failure error={disable.error} />
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

function BackupCodes({ codes, onKept }: { readonly codes: readonly string[]; readonly onKept: () => void }) {
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
        <Copy text={text} />
        <Button onClick={onKept}>{t('security.kept')}</Button>
      </Group>
    </Stack>
  );
}
