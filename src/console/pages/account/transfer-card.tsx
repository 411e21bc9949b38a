import { Button, Card, Checkbox, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { TRANSFERRED_THINGS, type TransferredThing } from '../../../contract/organization-roles.ts';
import { createTransfer } from '../../../contract/organizations.ts';
import { AmountInput } from '../../components/amount-input.tsx';
import { useAmountUnit } from '../../components/credit-amount.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { creditsToQuota } from '../../data/field-values.ts';
import type { Organization, Transfer } from '../../data/organizations.ts';

/** Hands over what the person owns to an organization. */
export function TransferCard({ organization }: { readonly organization: Organization }) {
  const { t } = useTranslation('organizations');
  const [isOpen, setOpen] = useState(false);
  return (
    <Card p="lg">
      <Title order={2} mb="sm">
        {t('transfer.title')}
      </Title>
      <Stack align="flex-start">
        <Text size="sm">{t('transfer.text')}</Text>
        <Button variant="default" onClick={() => setOpen(true)}>
          {t('transfer.action')}
        </Button>
      </Stack>
      {isOpen ? <TransferDialog organization={organization} onClose={() => setOpen(false)} /> : null}
    </Card>
  );
}

interface TransferDialogProps {
  readonly organization: Organization;
  readonly onClose: () => void;
}

function TransferDialog({ organization: { slug, name }, onClose }: TransferDialogProps) {
  const { t } = useTranslation('organizations');
  const toasts = useToasts();
  const queries = useQueryClient();
  const { quotaPerCredit } = useAmountUnit();
  const [include, setInclude] = useState<readonly TransferredThing[]>(TRANSFERRED_THINGS);
  const [credits, setCredits] = useState<number | string>('');
  const quota = creditsToQuota(Number(credits), quotaPerCredit);
  const save = useMutation({
    mutationFn: async (): Promise<Transfer> =>
      (await callApi(createTransfer, { params: { slug }, body: { include: [...include], quota } })).data,
    onSuccess: async ({ keys, videos, files, webhooks, status }) => {
      await queries.invalidateQueries();
      toasts.success(t(status === 'running' ? 'transfer.running' : 'transfer.done', { keys, videos, files, webhooks }));
      onClose();
    },
  });
  return (
    <FormDialog
      title={t('transfer.dialog', { name })}
      submitLabel={t('transfer.submit')}
      save={save}
      onClose={onClose}
      disabled={include.length === 0 && quota === 0}
    >
      <Text size="sm">{t('transfer.hint')}</Text>
      {TRANSFERRED_THINGS.map((thing) => (
        <Checkbox
          key={thing}
          label={t(`transfer.things.${thing}`)}
          checked={include.includes(thing)}
          onChange={({ currentTarget: { checked } }) =>
            setInclude(TRANSFERRED_THINGS.filter((each) => (each === thing ? checked : include.includes(each))))
          }
        />
      ))}
      <AmountInput label={t('transfer.amount')} max={1e9} value={credits} onChange={setCredits} />
    </FormDialog>
  );
}
