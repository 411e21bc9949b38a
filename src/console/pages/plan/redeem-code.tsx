import { Alert, Button, Group, TextInput } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { EndpointPart } from '../../../contract/endpoint.ts';
import { redeemCode } from '../../../contract/plans.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { callApi } from '../../data/api-client.ts';
import { formatDate } from '../../data/format-times-and-durations.ts';
import { refetchPlanAndCredits } from '../../data/plan-queries.ts';

type GrantResult = EndpointPart<typeof redeemCode, 'response'>['data'];

/** Redeems a code for a plan or credits. A link may prefill the code (`/packages?code=…`), but the user has to submit it. */
export function RedeemCode() {
  const { t } = useTranslation('plan');
  const queries = useQueryClient();
  const { code: initialCode = '' } = useSearch({ from: '/app/packages' });
  const [code, setCode] = useState(initialCode);
  const redeem = useMutation({
    mutationFn: async (text: string) => (await callApi(redeemCode, { body: { code: text } })).data,
    onSuccess: async () => {
      setCode('');
      await refetchPlanAndCredits(queries);
    },
  });
  return (
    <SettingsSection title={t('redeem')} subtitle={t('redeemLead')}>
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
        {redeem.data === undefined ? null : <RedeemResult granted={redeem.data} />}
        {redeem.error === null ? null : (
          <div style={{ marginTop: 12 }}>
            <ErrorAlert error={redeem.error} />
          </div>
        )}
      </div>
    </SettingsSection>
  );
}

function RedeemResult({ granted }: { readonly granted: GrantResult }) {
  const { t } = useTranslation('plan');
  const quota = useFormatCredits();
  const { outcome, quota: credited, package_code, package_expires_at } = granted;
  const until = package_expires_at === 0 ? '' : formatDate(package_expires_at);
  return (
    <Alert mt="sm" color="teal" icon={<IconCheck />}>
      {t(`outcome.${outcome}`, { amount: quota(credited), name: package_code, day: until })}
    </Alert>
  );
}
