import { Badge, Card, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminDeleteModel, adminUpdateModel, getModelRow } from '../../../../contract/models.ts';
import { DeletePanel } from '../../../components/delete-button.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { RouteLink, useRouteId } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { dataQuery, toModelUrlSegment, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { useStatus } from '../../../data/self.ts';
import { ModelForm } from './model-form.tsx';
import { toModelBody, toModelFormValues } from './model-form-values.ts';

/** Edits one model. */
export function ModelPage() {
  const { t } = useTranslation(['admin-models', 'admin-channels', 'app']);
  const id = useRouteId();
  const { data: status } = useStatus();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const model = useQuery(dataQuery(getModelRow, { params: { id: toModelUrlSegment(id) } }));
  if (model.data === undefined || status === undefined) {
    return model.error === null ? (
      <PageLoadingIndicator />
    ) : (
      <Page title={id} subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>} size="sm">
        <ErrorAlert error={model.error} retry={() => void model.refetch()} />
      </Page>
    );
  }
  const known = model.data;
  return (
    <Page
      title={known.id}
      subtitle={<RouteLink to="/admin/models">{t('models.all')}</RouteLink>}
      size="sm"
      actions={
        <Group gap={6}>
          <Badge color={known.enabled ? 'teal' : 'gray'}>
            {t(known.enabled ? 'admin-channels:states.on' : 'admin-channels:states.off')}
          </Badge>
          <RouteLink to="/admin/channels" search={{ model: known.id }} size="sm">
            {t('models.channelCount', { count: known.channels })}
          </RouteLink>
        </Group>
      }
    >
      <Stack>
        <Card p={{ base: 'md', sm: 'xl' }}>
          <ModelForm
            key={known.updated_time}
            initial={toModelFormValues(known, status.quota_per_unit)}
            isNew={false}
            submitLabel={t('app:save')}
            save={async (draft) => {
              const { id: _name, ...body } = toModelBody(draft, status.quota_per_unit);
              await callApi(adminUpdateModel, { params: { id: toModelUrlSegment(known.id) }, body });
              await invalidate();
              toasts.success(t('app:saved'));
            }}
          />
        </Card>
        <DeleteModel id={known.id} />
      </Stack>
    </Page>
  );
}

function DeleteModel({ id: name }: { readonly id: string }) {
  const { t } = useTranslation('admin-models');
  return (
    <DeletePanel
      heading={t('models.remove')}
      title={t('models.removeTitle', { name })}
      text={t('models.removeText')}
      confirmLabel={t('models.removeAction', { name })}
      remove={() => callApi(adminDeleteModel, { params: { id: toModelUrlSegment(name) } })}
      message={t('models.removed', { name })}
      listPage="/admin/models"
    />
  );
}
