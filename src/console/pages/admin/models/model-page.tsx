import { Badge, Card, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { changeModel, getModelRow, makeModel } from '../../../../contract/model-catalog.ts';
import { type DataOf, dataQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { useStatus } from '../../../data/queries.ts';
import { Failure } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { emptyModel, toModelBody, toModelDraft } from './model-draft.ts';
import { ModelForm } from './model-form.tsx';
import { toModelPath } from './model-path.ts';
import { RemoveModel } from './remove-model.tsx';

export type Model = DataOf<typeof getModelRow>;

export function NewModelPage() {
  const { t } = useTranslation('upstreams');
  const { data: status } = useStatus();
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  return (
    <Page title={t('models.make')} lead={<ToLink to="/admin/models">{t('models.all')}</ToLink>} size="sm">
      {status === undefined ? null : (
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            start={emptyModel(status.quota_per_unit)}
            isNew
            action={t('models.make')}
            save={async (draft) => {
              const { id, ...rest } = toModelBody(draft, status.quota_per_unit);
              const { price, ...body } = rest;
              await call(makeModel, { body: { id, ...body, ...(price === null ? {} : { price }) } });
              await refresh();
              notices.done(t('models.made', { name: id }));
              await navigate({ to: '/admin/models' as string });
            }}
          />
        </Card>
      )}
    </Page>
  );
}

export function ModelPage() {
  const { t } = useTranslation(['upstreams', 'shell']);
  const id = useId();
  const { data: status } = useStatus();
  const refresh = useRefresh();
  const notices = useNotices();
  const model = useQuery(dataQuery(getModelRow, { params: { id: toModelPath(id) } }));
  if (model.data === undefined || status === undefined) {
    return model.error === null ? (
      <PageLoader />
    ) : (
      <Page title={id} lead={<ToLink to="/admin/models">{t('models.all')}</ToLink>} size="sm">
        <Failure error={model.error} retry={() => void model.refetch()} />
      </Page>
    );
  }
  const known = model.data;
  return (
    <Page
      title={known.id}
      lead={<ToLink to="/admin/models">{t('models.all')}</ToLink>}
      size="sm"
      actions={
        <Group gap={6}>
          <Badge color={known.enabled ? 'teal' : 'gray'}>{t(known.enabled ? 'states.on' : 'states.off')}</Badge>
          <ToLink to="/admin/channels" search={{ model: known.id }} size="sm">
            {t('models.channelCount', { count: known.channels })}
          </ToLink>
        </Group>
      }
    >
      <Stack>
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            key={known.updated_time}
            start={toModelDraft(known, status.quota_per_unit)}
            isNew={false}
            action={t('shell:save')}
            save={async (draft) => {
              const { id: _name, ...body } = toModelBody(draft, status.quota_per_unit);
              await call(changeModel, { params: { id: toModelPath(known.id) }, body });
              await refresh();
              notices.done(t('shell:saved'));
            }}
          />
        </Card>
        <RemoveModel id={known.id} />
      </Stack>
    </Page>
  );
}
