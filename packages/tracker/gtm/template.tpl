___TERMS_OF_SERVICE___

By creating or modifying this file you agree to Google Tag Manager's Community
Template Gallery Developer Terms of Service available at
https://developers.google.com/tag-manager/gallery-tos (or such other URL as
Google may provide), as modified from time to time.


___INFO___

{
  "type": "TAG",
  "id": "cvt_temp_public_id",
  "version": 1,
  "securityGroups": [],
  "displayName": "Signalbox",
  "brand": {
    "id": "brand_dummy",
    "displayName": "Signalbox"
  },
  "description": "Sends signals about visitors to your own Signalbox: carts, surveys, bookings, browsing, sign-ups and more.",
  "containerContexts": [
    "WEB"
  ]
}


___TEMPLATE_PARAMETERS___

[
  {
    "type": "TEXT",
    "name": "scriptUrl",
    "displayName": "Address of the script",
    "help": "https://your-signalbox/sdk/{region}/{account}/tracker.js",
    "simpleValueType": true,
    "valueValidators": [
      {
        "type": "REGEX",
        "args": [
          "https://.+/sdk/.+\\.js"
        ]
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "apiKey",
    "displayName": "Key",
    "simpleValueType": true,
    "valueValidators": [
      {
        "type": "NON_EMPTY"
      }
    ]
  },
  {
    "type": "SELECT",
    "name": "method",
    "displayName": "Signal",
    "macrosInSelect": false,
    "simpleValueType": true,
    "selectItems": [
      {
        "value": "signIn",
        "displayValue": "signIn"
      },
      {
        "value": "signOut",
        "displayValue": "signOut"
      },
      {
        "value": "addToCart",
        "displayValue": "addToCart"
      },
      {
        "value": "removeFromCart",
        "displayValue": "removeFromCart"
      },
      {
        "value": "replaceCart",
        "displayValue": "replaceCart"
      },
      {
        "value": "clearCart",
        "displayValue": "clearCart"
      },
      {
        "value": "purchaseCart",
        "displayValue": "purchaseCart"
      },
      {
        "value": "startSurvey",
        "displayValue": "startSurvey"
      },
      {
        "value": "updateSurvey",
        "displayValue": "updateSurvey"
      },
      {
        "value": "completeSurvey",
        "displayValue": "completeSurvey"
      },
      {
        "value": "startQuiz",
        "displayValue": "startQuiz"
      },
      {
        "value": "updateQuiz",
        "displayValue": "updateQuiz"
      },
      {
        "value": "completeQuiz",
        "displayValue": "completeQuiz"
      },
      {
        "value": "startBooking",
        "displayValue": "startBooking"
      },
      {
        "value": "updateBooking",
        "displayValue": "updateBooking"
      },
      {
        "value": "completeBooking",
        "displayValue": "completeBooking"
      },
      {
        "value": "startGame",
        "displayValue": "startGame"
      },
      {
        "value": "updateGame",
        "displayValue": "updateGame"
      },
      {
        "value": "endGame",
        "displayValue": "endGame"
      },
      {
        "value": "startConfig",
        "displayValue": "startConfig"
      },
      {
        "value": "updateConfig",
        "displayValue": "updateConfig"
      },
      {
        "value": "completeConfig",
        "displayValue": "completeConfig"
      },
      {
        "value": "browse",
        "displayValue": "browse"
      },
      {
        "value": "signUp",
        "displayValue": "signUp"
      },
      {
        "value": "cancel",
        "displayValue": "cancel"
      },
      {
        "value": "reviewItem",
        "displayValue": "reviewItem"
      },
      {
        "value": "reviewCustomerService",
        "displayValue": "reviewCustomerService"
      },
      {
        "value": "startConversion",
        "displayValue": "startConversion"
      },
      {
        "value": "updateConversion",
        "displayValue": "updateConversion"
      },
      {
        "value": "completeConversion",
        "displayValue": "completeConversion"
      },
      {
        "value": "deleteConversion",
        "displayValue": "deleteConversion"
      },
      {
        "value": "setCartId",
        "displayValue": "setCartId"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "newCartId",
    "displayName": "cartId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "setCartId",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "SELECT",
    "name": "idType",
    "displayName": "idType",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signIn",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signOut",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ],
    "macrosInSelect": true,
    "selectItems": [
      {
        "value": "",
        "displayValue": "(not set)"
      },
      {
        "value": "email",
        "displayValue": "email"
      },
      {
        "value": "external",
        "displayValue": "external"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "email",
    "displayName": "email",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signIn",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signOut",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "customerId",
    "displayName": "customerId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signIn",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signOut",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "SIMPLE_TABLE",
    "name": "profileAttributes",
    "displayName": "profileAttributes",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signIn",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ],
    "simpleTableColumns": [
      {
        "name": "name",
        "displayName": "name",
        "type": "TEXT",
        "defaultValue": "",
        "isUnique": true
      },
      {
        "name": "value",
        "displayName": "value",
        "type": "TEXT",
        "defaultValue": ""
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "cartId",
    "displayName": "cartId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      }
    ],
    "help": "Text or number"
  },
  {
    "type": "TEXT",
    "name": "items",
    "displayName": "items",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ],
    "help": "A variable with an array of objects"
  },
  {
    "type": "SIMPLE_TABLE",
    "name": "eventAttributes",
    "displayName": "eventAttributes",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ],
    "simpleTableColumns": [
      {
        "name": "name",
        "displayName": "name",
        "type": "TEXT",
        "defaultValue": "",
        "isUnique": true
      },
      {
        "name": "value",
        "displayName": "value",
        "type": "TEXT",
        "defaultValue": ""
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "categories",
    "displayName": "categories",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "addToCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "removeFromCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "replaceCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "clearCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "transactionId",
    "displayName": "transactionId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "transactionSource",
    "displayName": "transactionSource",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "currency",
    "displayName": "currency",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "total",
    "displayName": "total",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "purchaseCart",
        "type": "EQUALS"
      }
    ],
    "help": "A number, or text such as 19.90"
  },
  {
    "type": "TEXT",
    "name": "objectId",
    "displayName": "objectId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "objectName",
    "displayName": "objectName",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "startSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeSurvey",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeQuiz",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeBooking",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "endGame",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "startConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConfig",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConfig",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "sections",
    "displayName": "sections",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      }
    ],
    "help": "A variable with an array of arrays of strings, such as [[\"shoes\", \"running\"]]"
  },
  {
    "type": "TEXT",
    "name": "elements",
    "displayName": "elements",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "browse",
        "type": "EQUALS"
      }
    ],
    "help": "A variable with an array of objects"
  },
  {
    "type": "SELECT",
    "name": "objectType",
    "displayName": "objectType",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      }
    ],
    "macrosInSelect": true,
    "selectItems": [
      {
        "value": "",
        "displayValue": "(not set)"
      },
      {
        "value": "newsletter",
        "displayValue": "newsletter"
      },
      {
        "value": "webinar",
        "displayValue": "webinar"
      },
      {
        "value": "event",
        "displayValue": "event"
      },
      {
        "value": "site",
        "displayValue": "site"
      },
      {
        "value": "program",
        "displayValue": "program"
      },
      {
        "value": "game",
        "displayValue": "game"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "category",
    "displayName": "category",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "signUp",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "cancel",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewItem",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "reviewCustomerService",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "conversionId",
    "displayName": "conversionId",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "conversionName",
    "displayName": "conversionName",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "method",
        "paramValue": "startConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "updateConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "completeConversion",
        "type": "EQUALS"
      },
      {
        "paramName": "method",
        "paramValue": "deleteConversion",
        "type": "EQUALS"
      }
    ]
  }
]


___SANDBOXED_JS_FOR_WEB_TEMPLATE___

const callInWindow = require('callInWindow');
const getType = require('getType');
const injectScript = require('injectScript');
const makeString = require('makeString');

// The fields of every signal.
const fields = {
  signIn: 'idType email customerId profileAttributes',
  signOut: 'idType email customerId',
  addToCart: 'cartId items idType email customerId profileAttributes eventAttributes categories',
  removeFromCart: 'cartId items idType email customerId profileAttributes eventAttributes categories',
  replaceCart: 'cartId items idType email customerId profileAttributes eventAttributes categories',
  clearCart: 'cartId items idType email customerId profileAttributes eventAttributes categories',
  purchaseCart: 'cartId items idType email customerId profileAttributes eventAttributes categories transactionId transactionSource currency total',
  startSurvey: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  updateSurvey: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  completeSurvey: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  startQuiz: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  updateQuiz: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  completeQuiz: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  startBooking: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  updateBooking: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  completeBooking: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  startGame: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  updateGame: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  endGame: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  startConfig: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  updateConfig: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  completeConfig: 'objectId objectName items idType email customerId profileAttributes eventAttributes categories',
  browse: 'sections elements idType email customerId profileAttributes eventAttributes categories',
  signUp: 'objectType objectId idType email customerId profileAttributes eventAttributes category',
  cancel: 'objectType objectId idType email customerId profileAttributes eventAttributes category',
  reviewItem: 'items idType email customerId profileAttributes eventAttributes category',
  reviewCustomerService: 'items idType email customerId profileAttributes eventAttributes category',
  startConversion: 'conversionId conversionName items idType email customerId profileAttributes eventAttributes categories',
  updateConversion: 'conversionId conversionName items idType email customerId profileAttributes eventAttributes categories',
  completeConversion: 'conversionId conversionName items idType email customerId profileAttributes eventAttributes categories',
  deleteConversion: 'conversionId conversionName items idType email customerId profileAttributes eventAttributes categories',
};

// Fields that are tables of names and values, and the attributes among them that are true or false.
const tables = 'profileAttributes eventAttributes'.split(' ');
const flags = 'profileOptinSms profileOptinMail profileOptinPush'.split(' ');
const texts = 'email customerId categories transactionId transactionSource currency objectId objectName category conversionId conversionName'.split(' ');

// A variable that the page has not set: left out, since a signal with null in it would be refused as a whole.
const isNothing = (value) => value === undefined || value === null || value === '';

// Variables of the data layer hold ids as numbers; the signals want text.
const textOf = (value) =>
  getType(value) === 'number' || getType(value) === 'boolean' ? makeString(value) : value;

const attributesOf = (rows) => {
  const attributes = {};
  rows.forEach((row) => {
    const isFlag = flags.indexOf(row.name) !== -1;
    // An attribute that is text may be empty.
    if (isNothing(row.value) && (isFlag || row.value !== '')) return;
    const isWord = isFlag && (row.value === 'true' || row.value === 'false');
    attributes[row.name] = isWord ? row.value === 'true' : isFlag ? row.value : textOf(row.value);
  });
  return attributes;
};

const payloadOf = (method) => {
  const payload = {};
  fields[method].split(' ').forEach((name) => {
    const value = data[name];
    if (isNothing(value)) return;
    if (tables.indexOf(name) === -1) payload[name] = texts.indexOf(name) === -1 ? value : textOf(value);
    else if (value.length) payload[name] = attributesOf(value);
  });
  return payload;
};

const send = () => {
  callInWindow('Tracker.setApiKey', data.apiKey);
  if (data.method === 'setCartId') callInWindow('Tracker.setCartId', data.newCartId);
  else callInWindow('Tracker.' + data.method + 'TagMgr', payloadOf(data.method));
  data.gtmOnSuccess();
};

injectScript(data.scriptUrl, send, data.gtmOnFailure, 'signalbox');


___WEB_PERMISSIONS___

[
  {
    "instance": {
      "key": {
        "publicId": "access_globals",
        "versionId": "1"
      },
      "param": [
        {
          "key": "keys",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.setApiKey"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.setCartId"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.signInTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.signOutTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.addToCartTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.removeFromCartTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.replaceCartTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.clearCartTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.purchaseCartTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startSurveyTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateSurveyTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.completeSurveyTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startQuizTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateQuizTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.completeQuizTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startBookingTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateBookingTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.completeBookingTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startGameTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateGameTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.endGameTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startConfigTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateConfigTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.completeConfigTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.browseTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.signUpTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.cancelTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.reviewItemTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.reviewCustomerServiceTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.startConversionTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.updateConversionTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.completeConversionTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "Tracker.deleteConversionTagMgr"
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  },
  {
    "instance": {
      "key": {
        "publicId": "inject_script",
        "versionId": "1"
      },
      "param": [
        {
          "key": "urls",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 1,
                "string": "https://*/sdk/*"
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  }
]


___TESTS___

scenarios:
- name: Sends a cart with its items
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"addToCart","cartId":"c-1","items":[{"sku":"s-1","quantity":1}],"objectId":"of another signal","categories":""};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.setApiKey', 'key');
    assertApi('callInWindow').wasCalledWith('Tracker.addToCartTagMgr', { cartId: 'c-1', items: [{ sku: 's-1', quantity: 1 }] });
    assertApi('gtmOnSuccess').wasCalled();
- name: Makes objects of tables, and booleans of flags
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"signIn","email":"ada@example.com","profileAttributes":[{"name":"profileTier","value":"gold"},{"name":"profileOptinSms","value":"true"},{"name":"profileOptinMail","value":false}]};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.signInTagMgr', {
      email: 'ada@example.com',
      profileAttributes: { profileTier: 'gold', profileOptinSms: true, profileOptinMail: false }
    });
- name: Makes text of numbers where text is wanted
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"purchaseCart","cartId":5,"transactionId":1001,"total":19.9,"eventAttributes":[{"name":"coupons","value":2},{"name":"gift","value":true}]};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.purchaseCartTagMgr', {
      cartId: 5,
      eventAttributes: { coupons: '2', gift: 'true' },
      transactionId: '1001',
      total: 19.9
    });
- name: Leaves out attributes whose variables are not set
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"signIn","email":"ada@example.com","profileAttributes":[{"name":"profileTier","value":"gold"},{"name":"plan","value":null},{"name":"note","value":""},{"name":"profileOptinSms","value":""}]};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.signInTagMgr', {
      email: 'ada@example.com',
      profileAttributes: { profileTier: 'gold', note: '' }
    });
- name: Names the cart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"setCartId","newCartId":"c-1"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.setCartId', 'c-1');
- name: Calls signIn
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"signIn"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.signInTagMgr', {});
- name: Calls signOut
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"signOut"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.signOutTagMgr', {});
- name: Calls addToCart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"addToCart"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.addToCartTagMgr', {});
- name: Calls removeFromCart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"removeFromCart"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.removeFromCartTagMgr', {});
- name: Calls replaceCart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"replaceCart"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.replaceCartTagMgr', {});
- name: Calls clearCart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"clearCart"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.clearCartTagMgr', {});
- name: Calls purchaseCart
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"purchaseCart"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.purchaseCartTagMgr', {});
- name: Calls startSurvey
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startSurvey"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startSurveyTagMgr', {});
- name: Calls updateSurvey
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateSurvey"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateSurveyTagMgr', {});
- name: Calls completeSurvey
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"completeSurvey"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.completeSurveyTagMgr', {});
- name: Calls startQuiz
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startQuiz"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startQuizTagMgr', {});
- name: Calls updateQuiz
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateQuiz"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateQuizTagMgr', {});
- name: Calls completeQuiz
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"completeQuiz"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.completeQuizTagMgr', {});
- name: Calls startBooking
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startBooking"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startBookingTagMgr', {});
- name: Calls updateBooking
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateBooking"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateBookingTagMgr', {});
- name: Calls completeBooking
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"completeBooking"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.completeBookingTagMgr', {});
- name: Calls startGame
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startGame"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startGameTagMgr', {});
- name: Calls updateGame
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateGame"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateGameTagMgr', {});
- name: Calls endGame
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"endGame"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.endGameTagMgr', {});
- name: Calls startConfig
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startConfig"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startConfigTagMgr', {});
- name: Calls updateConfig
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateConfig"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateConfigTagMgr', {});
- name: Calls completeConfig
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"completeConfig"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.completeConfigTagMgr', {});
- name: Calls browse
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"browse"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.browseTagMgr', {});
- name: Calls signUp
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"signUp"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.signUpTagMgr', {});
- name: Calls cancel
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"cancel"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.cancelTagMgr', {});
- name: Calls reviewItem
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"reviewItem"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.reviewItemTagMgr', {});
- name: Calls reviewCustomerService
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"reviewCustomerService"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.reviewCustomerServiceTagMgr', {});
- name: Calls startConversion
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"startConversion"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.startConversionTagMgr', {});
- name: Calls updateConversion
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"updateConversion"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.updateConversionTagMgr', {});
- name: Calls completeConversion
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"completeConversion"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.completeConversionTagMgr', {});
- name: Calls deleteConversion
  code: |-
    const data = {"scriptUrl":"https://signals.example/sdk/eu/shop/tracker.js","apiKey":"key","method":"deleteConversion"};
    mock('injectScript', (url, onSuccess) => onSuccess());
    mock('callInWindow', () => {});
    runCode(data);
    assertApi('callInWindow').wasCalledWith('Tracker.deleteConversionTagMgr', {});
- name: Fails when the script does not load
  code: |-
    mock('injectScript', (url, onSuccess, onFailure) => onFailure());
    runCode({ scriptUrl: 'https://signals.example/sdk/eu/shop/tracker.js', apiKey: 'key', method: 'signOut' });
    assertApi('gtmOnFailure').wasCalled();
    assertApi('gtmOnSuccess').wasNotCalled();


___NOTES___

Written from the signal catalogue of Signalbox. Change that, not this.
