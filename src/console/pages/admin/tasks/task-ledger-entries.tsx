import { Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SignedAmount } from '../../../components/signed-amount.tsx';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import type { Task } from '../../../data/admin-types.ts';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';

/** What was reserved, settled and given back, from the ledger itself. */
export function TaskLedgerEntries({ money: entries }: { readonly money: Task['money'] }) {
  const { t } = useTranslation('admin');
  const quota = useFormatCredits();
  if (entries.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('tasks.noMoney')}
      </Text>
    );
  const wallet = entries.reduce((sum, { amount }) => sum + amount, 0);
  const plan = entries.reduce((sum, { plan_amount: amount }) => sum + amount, 0);
  return (
    <>
      <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('tasks.money')}>
        <Table.Tbody>
          {entries.map(({ time, kind, amount, plan_amount: planAmount }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a ledger only grows at its end
            <Table.Tr key={index}>
              <Table.Td>
                <Text size="sm">{t(`ledger.kinds.${kind}` as 'ledger.kinds.reserve')}</Text>
                <Text size="xs" c="dimmed">
                  {formatDateTime(time)}
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                <SignedAmount value={amount} />
                {planAmount === 0 ? null : (
                  <Text size="xs" c="dimmed">
                    {t('tasks.ofPlan')} <SignedAmount value={planAmount} />
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" fw={600} mt="sm">
        {wallet + plan === 0 ? t('tasks.nothingPaid') : t('tasks.paid', { amount: quota(-(wallet + plan)) })}
      </Text>
    </>
  );
}
