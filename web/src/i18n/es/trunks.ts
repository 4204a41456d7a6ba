export const trunks = {
  'trunks.none': 'Ninguna llamada vino de una troncal ni fue a una en las últimas 24 horas.',
  'trunks.count': { one: 'Una troncal usada en las últimas 24 horas', other: '{n} troncales usadas en las últimas 24 horas' },
  'trunks.definition': 'Definición',
  'trunks.no_calls': 'Ninguna llamada la usó en las últimas 24 horas.',
  'trunks.all_calls': 'Todas sus llamadas',
  'trunks.day_calls': { one: 'Una llamada en las últimas 24 horas', other: '{n} llamadas en las últimas 24 horas' },
  'trunks.day': 'Intentos por hora, últimas 24 horas',
  'trunks.figures': 'Cifras de las últimas 24 horas',
  'trunks.failures': 'Fallos por código',
  'trunks.no_failures': 'Ninguno.',
};
