export const trunks = {
  'trunks.addresses': 'Direcciones',
  'trunks.none': 'No hay troncales configuradas ni se vio ninguna llamada.',
  'trunks.count': { one: 'Una troncal', other: '{n} troncales' },
  'trunks.no_calls': 'Ninguna llamada la usó en las últimas 24 horas.',
  'trunks.all_calls': 'Todas sus llamadas',
  'trunks.day_calls': { one: 'Una llamada en las últimas 24 horas', other: '{n} llamadas en las últimas 24 horas' },
  'trunks.day': 'Intentos por hora, últimas 24 horas',
  'trunks.figures': 'Cifras de las últimas 24 horas',
  'trunks.failures': 'Fallos por código',
  'trunks.no_failures': 'Ninguno.',
};
