import { Card as Box, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminChangeCard, adminGetCard, adminMakeCard } from '../../../../contract/packages.ts';
import { dataQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { useStatus } from '../../../data/queries.ts';
import { Failure } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { type Card, EMPTY_CARD, toBuiltinCard, toCard, toCardDraft } from './card-draft.ts';
import { PlanForm } from './plan-form.tsx';
import { RemovePlan } from './remove-plan.tsx';

export function NewPlanPage() {
  const { t } = useTranslation('plans');
  const { data: status } = useStatus();
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  return (
    <Page title={t('cards.make')} lead={<ToLink to="/admin/packages">{t('cards.all')}</ToLink>} size="sm">
      {status === undefined ? null : (
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            start={EMPTY_CARD}
            isNew
            action={t('cards.make')}
            save={async (draft) => {
              await call(adminMakeCard, { body: toCard(draft, status.quota_per_unit) });
              await refresh();
              notices.done(t('cards.made', { name: draft.name.trim() }));
              await navigate({ to: '/admin/packages' as string });
            }}
          />
        </Box>
      )}
    </Page>
  );
}

export function PlanPage() {
  const { t } = useTranslation('plans');
  const id = useId();
  const { data: status } = useStatus();
  const card = useQuery(dataQuery(adminGetCard, { params: { id } }));
  if (card.data !== undefined && status !== undefined)
    return <Known card={card.data} perUnit={status.quota_per_unit} />;
  if (card.error === null) return <PageLoader />;
  return (
    <Page title={t('cards.all')} lead={<ToLink to="/admin/packages">{t('cards.all')}</ToLink>} size="sm">
      <Failure error={card.error} retry={() => void card.refetch()} />
    </Page>
  );
}

function Known({ card, perUnit }: { readonly card: Card; readonly perUnit: number }) {
  const { t } = useTranslation(['plans', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  return (
    <Page
      title={card.name}
      lead={
        <>
          <ToLink to="/admin/packages" underline="always">
            {t('cards.all')}
          </ToLink>
          {card.system_builtin ? ` · ${t('cards.builtin')}` : ''}
        </>
      }
      size="sm"
      actions={
        card.system_builtin ? undefined : (
          <ToButton to="/admin/codes" search={{ package_code: card.package_code }} variant="default">
            {t('shell:pages.codes')}
          </ToButton>
        )
      }
    >
      <Stack>
        <Box p={{ base: 'md', sm: 'xl' }}>
          <PlanForm
            key={card.id}
            start={toCardDraft(card, perUnit)}
            isNew={false}
            isBuiltin={card.system_builtin}
            action={t('shell:save')}
            save={async (draft) => {
              const { package_code: _fixed, ...whole } = toCard(draft, perUnit);
              const body = card.system_builtin ? toBuiltinCard(draft, perUnit) : whole;
              await call(adminChangeCard, { params: { id: String(card.id) }, body });
              await refresh();
              notices.done(t('shell:saved'));
            }}
          />
        </Box>
        {card.system_builtin ? null : <RemovePlan card={card} />}
      </Stack>
    </Page>
  );
}
