import { Alert, Button, Group, TextInput } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { PartOf } from '../../../contract/endpoint.ts';
import { redeemCode } from '../../../contract/packages.ts';
import { call } from '../../data/client.ts';
import { toDay } from '../../data/time.ts';
import { Failure } from '../../parts/failure.tsx';
import { useQuota } from '../../parts/quota.tsx';
import { Section } from '../../parts/section.tsx';

type Granted = PartOf<typeof redeemCode, 'answer'>['data'];

/** A code makes a plan or credits; a link may bring it along (`/packages?code=…`), pressing remains the person's. */
export function Redeem() {
  const { t } = useTranslation('packages');
  const queries = useQueryClient();
  const { code: brought = '' } = useSearch({ from: '/app/packages' });
  const [code, setCode] = useState(brought);
  const redeem = useMutation({
    mutationFn: async (text: string) => (await call(redeemCode, { body: { code: text } })).data,
    onSuccess: async () => {
      setCode('');
      await Promise.all(['package', 'self', 'models'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    },
  });
  return (
    <Section title={t('redeem')} lead={t('redeemLead')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          redeem.mutate(code.trim());
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t('code')}
            flex={1}
            miw={220}
            maw={420}
            maxLength={200}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <Button type="submit" loading={redeem.isPending} disabled={code.trim() === ''}>
            {t('redeemAction')}
          </Button>
        </Group>
      </form>
      <div aria-live="polite">
        {redeem.data === undefined ? null : <Result granted={redeem.data} />}
        {redeem.error === null ? null : (
          <div style={{ marginTop: 12 }}>
            <Failure error={redeem.error} />
          </div>
        )}
      </div>
    </Section>
  );
}

function Result({ granted }: { readonly granted: Granted }) {
  const { t } = useTranslation('packages');
  const quota = useQuota();
  const { outcome, quota: credited, package_code, package_expires_at } = granted;
  const until = package_expires_at === 0 ? '' : toDay(package_expires_at);
  return (
    <Alert mt="sm" color="teal" icon={<IconCheck />}>
      {t(`outcome.${outcome}`, { amount: quota(credited), name: package_code, day: until })}
    </Alert>
  );
}
